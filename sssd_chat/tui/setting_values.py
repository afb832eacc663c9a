"""Settings as they are shown and typed. No widgets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sssd_chat.config.settings import Setting
from sssd_chat.config.writing import parsed
from sssd_chat.text import one_line

NOT_SET = "–"


def shown_value(value: object) -> str:
    """A value for a reader."""
    if value is None or value == () or value == "":
        return NOT_SET
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple):
        return one_line(", ".join(value))
    return one_line(str(value))


def typed_form(value: object) -> str:
    """A value as it is to be changed in a field."""
    shown = ", ".join(value) if isinstance(value, tuple) else "" if value is None else f"{value}"
    return one_line(shown)


def from_typed(setting: Setting, words: str) -> Any:
    """The value that was typed; None for an empty field where the setting may be missing. Raises
    ValueError with what was expected."""
    if setting.kind is tuple:
        return setting.checked([part.strip() for part in words.split(",") if part.strip()])
    if setting.kind is str:
        return None if not words and setting.default is None else setting.checked(words)
    return None if not words.strip() else setting.checked(parsed(words))


def few_values(setting: Setting, themes: Iterable[str]) -> Sequence[Any]:
    """All values of a setting that has few, in order; empty for one that is typed."""
    if setting.key == "screen.theme":
        return ("dark", "light", *sorted(themes))
    if setting.kind is bool:
        return (False, True)
    missing = (None,) if setting.choices and setting.default is None else ()
    return (*missing, *setting.choices)


def matches(setting: Setting, words: str) -> bool:
    """Whether a setting is one that is looked for."""
    text = f"{setting.key} {setting.purpose}".lower()
    return all(word in text for word in words.lower().split())
