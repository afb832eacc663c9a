"""A Jinja environment for chat templates: what they may call, and nothing else.

Templates come with the model file, so they run in a sandbox. They are written for the environment
of the transformers library: the same functions, filters and variables are here.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping
from typing import Any

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

_GENERATION_MARK = re.compile(r"\{%-?\s*(?:end)?generation\s*-?%\}")
"""A block of training code, which says nothing about the text."""


class TemplateRefused(Exception):
    """A template cannot be compiled, or does not take a conversation; the message says why."""


class SandboxedTemplate:
    """A compiled chat template."""

    def __init__(self, source: str) -> None:
        """Raises TemplateRefused when `source` is not valid Jinja."""
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols]
        )
        environment.globals["raise_exception"] = _raise_exception
        environment.globals["strftime_now"] = _strftime_now
        environment.filters["tojson"] = _to_json
        try:
            self._template = environment.from_string(_GENERATION_MARK.sub("", source))
        except (jinja2.TemplateError, RecursionError) as error:
            raise TemplateRefused(str(error)) from error

    def fill(self, variables: Mapping[str, object]) -> str:
        """The text for these variables. Raises TemplateRefused when the template raises, for
        whatever reason."""
        try:
            return self._template.render(**variables)
        except Exception as error:
            # Expressions of a template fail in any way that Python can: a sum of a text and
            # nothing is a TypeError.
            raise TemplateRefused(str(error) or type(error).__name__) from error


def _raise_exception(message: str) -> None:
    raise jinja2.TemplateError(message)


def _strftime_now(form: str) -> str:
    return datetime.datetime.now().strftime(form)


def _to_json(value: Any, indent: int | None = None, **_: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)
