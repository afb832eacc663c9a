"""Spans of answers: kept as they are, and forgotten with what they came from."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.conversation.history import History
from sssd_chat.conversation.history.database import NewTurn
from sssd_chat.conversation.history.origins import StoredSpan, packed_spans, unpacked_spans

NAMES = st.text(max_size=8)
SPANS = st.lists(st.builds(StoredSpan, st.integers(0, 10**6), st.integers(0, 10**6), NAMES, NAMES))


@given(SPANS)
def test_spans_come_back(spans: list[StoredSpan]) -> None:
    assert unpacked_spans(packed_spans(spans)) == tuple(spans)


@given(st.one_of(st.text(), st.just('{"places":[["a","b"]],"spans":[1,2]}')))
def test_anything_else_is_no_spans(text: str) -> None:
    assert unpacked_spans(text) == ()


KEPT = StoredSpan(0, 2, "conversation")


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "history.db")


def add(history: History, chat: int, *spans: StoredSpan) -> int:
    return history.insert(
        chat, None, NewTurn("assistant", "an answer", spans=packed_spans([KEPT, *spans]))
    )


def spans_of(history: History, turn: int) -> tuple[StoredSpan, ...]:
    (record,) = [r for c in history.chats() for r in history.records(c.id) if r.id == turn]
    return unpacked_spans(record.spans)


def test_a_deleted_chat_is_no_longer_named(history: History, tmp_path: Path) -> None:
    with contextlib.closing(history):
        chats = [history.add_chat(f"chat {n}", "") for n in range(1, 13)]
        of_one, of_twelve = StoredSpan(2, 4, "chats", "1/7"), StoredSpan(4, 6, "chats", "12/7")
        answer = add(history, chats[4], of_one, of_twelve)
        history.delete_chats([chats[0]])
        assert spans_of(history, answer) == (KEPT, of_twelve)
        history.delete_chats([chats[11]])
        assert spans_of(history, answer) == (KEPT,)


@pytest.mark.parametrize("name", ["notes", 'a "quoted" näme', "under_score", "back\\slash"])
def test_a_forgotten_collection_is_no_longer_named(history: History, name: str) -> None:
    with contextlib.closing(history):
        chat = history.add_chat("hello", "")
        other = StoredSpan(2, 3, f"{name}2", "secret.txt")
        first, second = StoredSpan(3, 4, name, "secret.txt"), StoredSpan(4, 5, name, "plain.txt")
        answer = add(history, chat, other, first, second)
        history.forget_sources(name, ["secret.txt"])
        assert spans_of(history, answer) == (KEPT, other, second)
        history.forget_sources(name)
        assert spans_of(history, answer) == (KEPT, other)


def test_a_name_that_is_forgotten_is_in_no_file(history: History, tmp_path: Path) -> None:
    with contextlib.closing(history):
        chat = history.add_chat("hello", "")
        add(history, chat, StoredSpan(3, 4, "notes", "diary-of-1983.txt"))
        history.forget_sources("notes")
    for path in tmp_path.iterdir():
        assert b"diary-of-1983" not in path.read_bytes()
