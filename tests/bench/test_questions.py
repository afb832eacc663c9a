from __future__ import annotations

from pathlib import Path

import pytest

from sssd_chat.bench.questions import Question, read_questions
from sssd_chat.errors import UserError


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "set.jsonl"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_form_of_question(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '{"question_id": 7, "category": "x", "turns": ["one", "two"]}\n\n'
        '{"task_id": "H/1", "prompt": "code"}\n{"question": "how many?", "answer": "3"}\n'
        '"just\u2028text"\n{"set": "mine", "id": "a", "text": "t"}',
    )
    assert read_questions(path, before="Say: ") == [
        Question("set", 7, ("Say: one", "two")),
        Question("set", "H/1", ("Say: code",)),
        Question("set", 3, ("Say: how many?",)),
        Question("set", 4, ("Say: just\u2028text",)),
        Question("mine", "a", ("Say: t",)),
    ]
    assert len(read_questions(path, limit=2)) == 2


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no questions"),
        ("\n\n", "no questions"),
        ("{", "line 1: not JSON"),
        ('"ok"\n{"answer": 3}', "line 2: no question"),
        ('{"turns": []}', "line 1: no question"),
        ('{"turns": [1]}', "line 1: no question"),
        ("7", "line 1: no question"),
    ],
)
def test_what_is_no_question_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        read_questions(written(tmp_path, text))


def test_a_missing_file_and_one_that_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Cannot read"):
        read_questions(tmp_path / "none.jsonl")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="not UTF-8"):
        read_questions(tmp_path / "bytes")
