"""The parameters of answers as they are typed: `temperature=0.2 top_p=0.9`. No widgets."""

from __future__ import annotations

import dataclasses
import difflib
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sssd_chat.config.settings import Setting, all_settings
from sssd_chat.config.writing import parsed
from sssd_chat.conversation.events import AnswerParameters
from sssd_chat.errors import UserError

DEFAULT = "default"
"""The word that gives a parameter back to the settings."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of answers."""

    name: str
    purpose: str
    setting: Setting | None
    """What says what it may be; None for those that are no settings."""

    def read(self, words: str) -> Any:
        """The value that was typed. Raises ValueError with what was expected."""
        value = parsed(words)
        if self.setting is not None:
            return self.setting.checked(value)
        if self.name == "seed":
            if type(value) is int and 0 <= value < 2**32:
                return value
            raise ValueError("expected a whole number from 0 to 4294967295")
        if type(value) is bool:
            return value
        raise ValueError("expected true or false")


_SETTINGS: Mapping[str, Setting] = {
    setting.name: setting for setting in all_settings() if setting.section == "answer"
}
_OTHER = {
    "seed": "the same number draws the same tokens again",
    "thinking": "whether the model thinks first, where it can be asked to",
}
PARAMETERS = tuple(
    Parameter(
        field.name,
        _SETTINGS[field.name].purpose if field.name in _SETTINGS else _OTHER[field.name],
        _SETTINGS.get(field.name),
    )
    for field in dataclasses.fields(AnswerParameters)
)


def changed(parameters: AnswerParameters, words: str) -> AnswerParameters:
    """`parameters` with what was typed, e.g. "temperature=0.2 seed=default". Raises UserError with
    a sentence about the first thing that is wrong."""
    known = {parameter.name: parameter for parameter in PARAMETERS}
    changes: dict[str, Any] = {}
    try:
        parts = shlex.split(words)
    except ValueError:
        parts = words.split()
    for part in parts:
        name, equals, value = part.partition("=")
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            guess = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}."
            raise UserError(f"There is no parameter {name}; {guess}")
        if not equals or not value:
            raise UserError(f"{name} needs a value, as in {name}={_example(known[name])}.")
        try:
            changes[name] = None if value == DEFAULT else known[name].read(value)
        except ValueError as error:
            raise UserError(f"{name} cannot be {value!r}: {error}.") from error
    return dataclasses.replace(parameters, **changes)


def _example(parameter: Parameter) -> str:
    value = parameter.setting.default if parameter.setting else None
    if value is None:
        return {"thinking": "true", "seed": "1"}.get(parameter.name, "100")
    return f"{value}"


def described(parameters: AnswerParameters) -> str:
    """What of the parameters is not as the settings say; empty when all of it is."""
    parts = []
    for field in dataclasses.fields(parameters):
        value = getattr(parameters, field.name)
        if value is not None:
            shown = str(value).lower() if isinstance(value, bool) else f"{value}"
            parts.append(f"{field.name}={shown}")
    return " ".join(parts)
