"""Question sets: files of prompts, one JSON value a line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from sssd_chat.errors import UserError

_SINGLE_KEYS = ("prompt", "question", "text")


@dataclass(frozen=True, slots=True)
class Question:
    """What one user asks, turn by turn."""

    set: str
    id: int | str
    turns: tuple[str, ...]


def read_questions(path: Path, before: str = "", limit: int | None = None) -> list[Question]:
    """The questions of a JSONL file, each a string, or an object with `turns` (a list), `prompt`,
    `question` or `text`; `set` and `id` (or `question_id`, `task_id`) are kept where there are.

    `before` is put in front of each first turn. Raises UserError, naming file and line.
    """
    questions = []
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise UserError(f"Cannot read the questions {path}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"The questions {path} are not UTF-8 text.") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            questions.append(_parsed(line, path, number, before))
    if not questions:
        raise UserError(f"{path} holds no questions.")
    return questions[:limit]


def _parsed(line: str, path: Path, number: int, before: str) -> Question:
    place = f"{path}, line {number}"
    try:
        raw = json.loads(line)
    except ValueError as error:
        raise UserError(f"{place}: not JSON ({error}).") from error
    fields = raw if isinstance(raw, dict) else {"text": raw}
    turns = fields.get("turns")
    if turns is None:
        turns = [fields[key] for key in _SINGLE_KEYS if key in fields][:1]
    if not (isinstance(turns, list) and turns and all(isinstance(turn, str) for turn in turns)):
        raise UserError(f"{place}: no question in it (turns, prompt, question or text).")
    ids = [fields[key] for key in ("id", "question_id", "task_id") if key in fields]
    identity = ids[0] if ids and isinstance(ids[0], int | str) else number - 1
    return Question(str(fields.get("set", path.stem)), identity, (before + turns[0], *turns[1:]))
