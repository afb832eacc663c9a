"""Messages to prompt tokens, by the model's own chat template.

A template is Jinja source that knows the model's control tokens. What a user typed must never
become one: their written forms are replaced by placeholder characters before rendering, and put
back as ordinary text when the result is tokenized.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from sssd_chat.errors import UserError
from sssd_chat.generation.tokenizer import Tokenizer

Role = Literal["system", "user", "assistant"]

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""Used for a model without a template whose vocabulary has the ChatML tokens."""

DIALOGUE = (
    "{% for message in messages %}"
    "{% if message.role == 'system' %}{{ message.content }}\n\n"
    "{% elif message.role == 'user' %}User: {{ message.content }}\n"
    "{% else %}Assistant: {{ message.content }}\n{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}"
)
"""Used for a model without a template and without ChatML tokens."""

DIALOGUE_STOP = "\nUser:"
"""Ends an answer that DIALOGUE asked for."""

_FIRST_PLACEHOLDER = 0xF0000
"""Private-use characters, which no template and hardly any text holds."""
_GENERATION_MARK = re.compile(r"\{%-?\s*(?:end)?generation\s*-?%\}")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """A rendered conversation."""

    text: str
    """As rendered, control tokens of the users replaced by placeholders."""
    tokens: list[int]


class ChatTemplate:
    """Renders conversations for one model."""

    def __init__(self, source: str | None, tokenizer: Tokenizer) -> None:
        """`source` is the model's own template; None chooses a named default. Raises UserError
        when the source is not valid Jinja."""
        self._tokenizer = tokenizer
        self._placeholders: dict[str, str] = {}
        self.stop: tuple[str, ...] = ()
        """Stop strings that the template itself calls for."""
        self.notice = ""
        """A sentence for the user when a default stands in."""
        if not source:
            source = self._default()
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols]
        )
        environment.globals["raise_exception"] = _raise_exception
        environment.globals["strftime_now"] = _strftime_now
        environment.filters["tojson"] = _to_json
        try:
            self._template = environment.from_string(_GENERATION_MARK.sub("", source))
        except jinja2.TemplateError as error:
            raise UserError(f"The model's chat template is broken: {error}.") from error

    def _default(self) -> str:
        if self._tokenizer.control_texts("<|im_start|>"):
            self.notice = "The model has no chat template: ChatML is used."
            return CHATML
        self.notice = (
            "The model has no chat template: a plain dialogue is used. It may be a base model, "
            "which continues texts better than it answers questions."
        )
        self.stop = (DIALOGUE_STOP,)
        return DIALOGUE

    def render(self, messages: Sequence[Message]) -> Prompt:
        """The prompt that asks for the next answer. Raises UserError when the template refuses
        the conversation."""
        text = self.render_text(messages)
        return Prompt(text, self.tokenize(text, start=True))

    def render_text(self, messages: Sequence[Message]) -> str:
        """Like render, without tokens."""
        protected = [replace(m, content=self.protect(m.content)) for m in messages]
        try:
            return self._fill(protected)
        except jinja2.TemplateError as error:
            if not (protected and protected[0].role == "system"):
                raise UserError(f"The model's chat template refuses this chat: {error}.") from error
        try:
            return self._fill(_system_into_first_question(protected))
        except jinja2.TemplateError as error:
            raise UserError(f"The model's chat template refuses this chat: {error}.") from error

    def _fill(self, messages: Sequence[Message]) -> str:
        return self._template.render(
            messages=[{"role": m.role, "content": m.content} for m in messages],
            add_generation_prompt=True,
            bos_token=self._tokenizer.text_of(self._tokenizer.start),
            eos_token=self._tokenizer.text_of(self._tokenizer.end),
        )

    def protect(self, text: str) -> str:
        """`text` with a placeholder for every written form of a control token."""
        while forms := self._tokenizer.control_texts(text):
            for form in forms:
                text = text.replace(form, self._placeholder(form, text))
        return text

    def _placeholder(self, form: str, text: str) -> str:
        placeholder = self._placeholders.get(form)
        if placeholder is None:
            code = _FIRST_PLACEHOLDER
            while chr(code) in text or chr(code) in self._placeholders.values():
                code += 1
            placeholder = self._placeholders[form] = chr(code)
        return placeholder

    def tokenize(self, text: str, *, start: bool) -> list[int]:
        """Tokens of rendered text. With `start` it is the beginning of a prompt, which gets the
        start token unless the template wrote it."""
        tokenizer = self._tokenizer
        written = tokenizer.text_of(tokenizer.start)
        add_start = start and not (written and text.startswith(written))
        if not self._placeholders:
            return self._segment(text, first=start, special=True, add_start=add_start)
        forms = {placeholder: form for form, placeholder in self._placeholders.items()}
        tokens: list[int] = []
        for number, segment in enumerate(re.split(f"([{''.join(forms)}])", text)):
            is_first = start and number == 0
            if segment in forms:
                tokens += self._segment(forms[segment], first=False, special=False)
            elif segment or is_first:
                tokens += self._segment(
                    segment, first=is_first, special=True, add_start=add_start and is_first
                )
        return tokens

    def _segment(
        self, text: str, *, first: bool, special: bool, add_start: bool = False
    ) -> list[int]:
        if first or not text:
            return self._tokenizer.tokenize(text, special=special, add_start=add_start)
        # Some vocabularies put a space in front of every text; in the middle of one it would be
        # wrong. A newline in front takes that space and is cut off again.
        mark = self._tokenizer.tokenize("\n")
        tokens = self._tokenizer.tokenize("\n" + text, special=special)
        if tokens[: len(mark)] == mark:
            return tokens[len(mark) :]
        return self._tokenizer.tokenize(text, special=special)


def _system_into_first_question(messages: Sequence[Message]) -> list[Message]:
    """For templates that know no system role."""
    system, *rest = messages
    for number, message in enumerate(rest):
        if message.role == "user":
            joined = f"{system.content}\n\n{message.content}"
            return [*rest[:number], replace(message, content=joined), *rest[number + 1 :]]
    return [Message("user", system.content), *rest]


def _raise_exception(message: str) -> None:
    raise jinja2.TemplateError(message)


def _strftime_now(form: str) -> str:
    return datetime.datetime.now().strftime(form)


def _to_json(value: Any, indent: int | None = None, **_: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)
