"""The file of answers: torn lines, other inputs, two programs, order."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sssd_chat.conversation.batch.lines import LineId
from sssd_chat.conversation.batch.output import AnswerFile
from sssd_chat.errors import UserError

LINES = [LineId(number, f"{number:04x}") for number in range(1, 8)]


def opened(path: Path) -> AnswerFile:
    return AnswerFile(path, set(LINES).__contains__)


def written(path: Path, lines: list[LineId]) -> bytes:
    path.unlink(missing_ok=True)
    with contextlib.closing(opened(path)) as file:
        for line in lines:
            file.add(line, {"text": f"answer {line.number} \ud800 ☃", "error": None})
    return path.read_bytes()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations(LINES), st.data())
def test_a_torn_end_is_cut_off_and_nothing_else(
    tmp_path: Path, order: list[LineId], data: st.DataObject
) -> None:
    path = tmp_path / "out.jsonl"
    content = written(path, order)
    length = data.draw(st.integers(0, len(content)))
    path.write_bytes(content[:length])
    whole = content[:length].count(b"\n")
    if content[length : length + 1] == b"\n":
        whole += 1  # Only the end of the line is missing.
    with contextlib.closing(opened(path)) as file:
        assert file.done == set(order[:whole])
        for line in order[whole:]:
            file.add(line, {"text": "again"})
        file.put_in_order()
    numbers = [json.loads(line)["input"]["line"] for line in path.read_bytes().splitlines()]
    assert numbers == [line.number for line in LINES]


@pytest.mark.parametrize(
    "content",
    [
        b"one line without an end",
        b'{"text": "of something else"}\n',
        b'{"input": {"line": 1, "digest": "of another input"}}\n',
        b'{"input": {"line": [], "digest": {}}}\n',
        b"\n",
    ],
)
def test_another_file_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(content)
    with pytest.raises(UserError, match="something else"):
        opened(path)
    assert path.read_bytes() == content


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with contextlib.closing(opened(path)) as file:
        for line in reversed(LINES):
            file.add(line, {})
        with pytest.raises(UserError, match="Another batch"):
            opened(path)
        file.put_in_order()
        with pytest.raises(UserError, match="Another batch"):
            opened(path)
    opened(path).close()


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be written"):
        opened(tmp_path / "missing" / "out.jsonl")
    with pytest.raises(UserError, match="cannot be written"):
        opened(tmp_path)
