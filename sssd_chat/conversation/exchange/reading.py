"""A file of chats, whatever made it: its records, and the chat that each of them is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from sssd_chat.conversation.exchange import (
    chatgpt,
    claude,
    llama_cpp,
    lm_studio,
    magpie,
    own,
    sharegpt,
    ultrachat,
)
from sssd_chat.conversation.exchange.portable import Damaged, PortableChat
from sssd_chat.errors import UserError

_FORMATS: tuple[ModuleType, ...] = (
    own,
    chatgpt,
    claude,
    llama_cpp,
    lm_studio,
    sharegpt,
    magpie,
    ultrachat,
)
"""The most peculiar first: a list of messages is part of several."""

_LINE_SUFFIXES = (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class Problem:
    """A record that is no chat."""

    position: str
    """Where it is in the file, e.g. "line 3"."""
    reason: str


@dataclass(frozen=True, slots=True)
class Found:
    """A record that is a chat."""

    position: str
    chat: PortableChat


def read_chats(path: Path) -> Iterator[Found | Problem]:
    """All records of a file (JSON, or JSON lines), in its order. Raises UserError when the file
    cannot be read at all."""
    try:
        content = path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"{path} cannot be read: {reason}.") from error
    for position, value in _records(path, content):
        yield value if isinstance(value, Problem) else _chat(position, value)


def _chat(position: str, value: object) -> Found | Problem:
    try:
        for kind in _FORMATS:
            if kind.recognizes(value):
                return Found(position, kind.read(value))
    except Damaged as error:
        return Problem(position, str(error))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError, OverflowError):
        # Whatever a format did not think of costs one record, not the file.
        return Problem(position, "it is damaged")
    return Problem(position, "its format is unknown")


def _records(path: Path, content: bytes) -> Iterator[tuple[str, Any]]:
    if path.suffix.lower() not in _LINE_SUFFIXES:
        try:
            yield from _entries(json.loads(content.decode("utf-8-sig")))
            return
        except (ValueError, RecursionError) as error:
            if not _has_lines(content):
                raise UserError(
                    f"{path} holds no chats: it is not valid JSON ({error})."
                ) from error
    yield from _lines(content)


def _has_lines(content: bytes) -> bool:
    """Whether one of several lines is a record of its own."""
    lines = [line for line in content.splitlines() if line.strip()]
    return len(lines) > 1 and any(isinstance(_parsed(line), dict | list) for line in lines[:100])


def _lines(content: bytes) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if line.strip():
            position = f"line {number}"
            value = _parsed(line)
            yield position, Problem(position, "it is not valid JSON") if value is None else value


def _parsed(line: bytes) -> object:
    try:
        return json.loads(line.decode())
    except (ValueError, RecursionError):
        return None


def _entries(value: object) -> Iterator[tuple[str, Any]]:
    """The records in a JSON value: those of a list, of an object that holds a list of chats, or
    the value itself."""
    if isinstance(value, list) and not sharegpt.recognizes(value):
        tables = llama_cpp.conversations(value) if value else None
        listed: Any = value if tables is None else tables
    elif isinstance(value, dict) and not any(kind.recognizes(value) for kind in _FORMATS):
        lists = [value[name] for name in ("chats", "conversations") if name in value]
        listed = lists[0] if lists and isinstance(lists[0], list) else [value]
    else:
        listed = [value]
    for number, record in enumerate(listed, start=1):
        yield f"record {number}", record
