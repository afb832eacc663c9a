"""Fields of JSON records, checked: what is of the wrong kind raises Damaged."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from sssd_chat.conversation.exchange.portable import Damaged

Record = dict[str, Any]


def is_record(value: object, *names: str) -> bool:
    """Whether the value is an object with these fields."""
    return isinstance(value, dict) and all(name in value for name in names)


def record(value: object, what: str) -> Record:
    """The value as an object."""
    if not isinstance(value, dict):
        raise Damaged(f"{what} is no object")
    return value


def entries(value: object, what: str) -> list[Any]:
    """The value as a list."""
    if not isinstance(value, list):
        raise Damaged(f"{what} is no list")
    return value


def text(value: object, what: str) -> str:
    """The value as text."""
    if not isinstance(value, str):
        raise Damaged(f"{what} is no text")
    return value


def text_or_empty(value: object) -> str:
    """The value if it is text, else nothing."""
    return value if isinstance(value, str) else ""


def seconds(value: object) -> float | None:
    """A time as seconds since 1970: from seconds, milliseconds or ISO 8601; None for anything
    else."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e14:
        return None
    # No chat is from after the year 5000, so larger numbers are milliseconds.
    return value / 1000 if value > 1e11 else float(value)


def parts_text(value: object, what: str) -> str:
    """The text of a content that is a text or a list of parts, of which those with text count."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    texts = []
    for part in entries(value, what):
        if isinstance(part, str):
            texts.append(part)
        elif is_record(part, "text") and part.get("type", "text") in ("text", "output_text"):
            texts.append(text(cast(Record, part)["text"], what))
    return "\n\n".join(texts)
