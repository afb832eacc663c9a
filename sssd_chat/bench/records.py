"""Recorded answers of a model: one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sssd_chat.errors import UserError


@dataclass(frozen=True, slots=True)
class Record:
    """One answer, and all that a drafter may be shown of it."""

    set: str
    """Name of the question set."""
    id: int | str
    """Which question of the set."""
    turn: int
    """Which turn of the question, from 0."""
    prompt: tuple[int, ...]
    """Token ids of the whole rendered prompt of the turn."""
    out: tuple[int, ...]
    """Token ids of the answer, the end token included when it came."""
    top: tuple[tuple[int, ...], ...]
    """For each position of `out`, the model's best tokens there, best first."""


def read_records(paths: Iterable[Path]) -> list[Record]:
    """All records of the files, in order.

    Raises UserError, naming file and line, when a file cannot be read or a line is no record.
    """
    return [record for path in paths for record in _read_file(path)]


def _read_file(path: Path) -> Iterator[Record]:
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield _parsed(line, f"{path}, line {number}")
    except OSError as error:
        raise UserError(f"cannot read the recordings {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"the recordings {path} are not UTF-8 text") from error


def _parsed(line: str, place: str) -> Record:
    try:
        raw = json.loads(line)
    except ValueError as error:
        raise UserError(f"{place}: not a JSON object ({error})") from error
    if not isinstance(raw, dict):
        raise UserError(f"{place}: not a JSON object")
    for key in ("set", "id", "turn", "prompt", "out", "top"):
        if key not in raw:
            raise UserError(f"{place}: the record has no {key!r}")
    if not isinstance(raw["set"], str):
        raise UserError(f"{place}: 'set' must be a text")
    if not isinstance(raw["id"], int | str) or not isinstance(raw["turn"], int):
        raise UserError(f"{place}: 'id' must be a number or a text, and 'turn' a number")
    prompt = _tokens(raw["prompt"], "prompt", place)
    out = _tokens(raw["out"], "out", place)
    if not prompt or not out:
        raise UserError(f"{place}: 'prompt' and 'out' must hold at least one token each")
    if not isinstance(raw["top"], list) or len(raw["top"]) != len(out):
        raise UserError(f"{place}: 'top' must be a list with one entry for each token of 'out'")
    top = tuple(_tokens(best, "top", place) for best in raw["top"])
    return Record(raw["set"], raw["id"], raw["turn"], prompt, out, top)


def _tokens(value: object, key: str, place: str) -> tuple[int, ...]:
    if isinstance(value, list) and all(type(token) is int and token >= 0 for token in value):
        return tuple(value)
    raise UserError(f"{place}: {key!r} must hold token ids")
