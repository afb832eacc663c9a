"""Chats are trees of turns; nothing that was put in comes out otherwise."""

from __future__ import annotations

import contextlib
import sqlite3
import time
import unicodedata
from array import array
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sssd_chat.conversation.history import History, NewTurn, NoSuchChat, StoredTurn
from sssd_chat.conversation.history.encoding import restored, storable, title_of

ANY_TEXT = st.text(st.characters(codec=None))


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with contextlib.closing(History(tmp_path / "history.db")) as history:
        yield history


def add(history: History, chat: int, parent: int | None, text: str) -> int:
    return history.add_turn(chat, parent, "user", text, "done", "tiny")


@given(text=ANY_TEXT)
def test_any_text_is_stored_and_restored(text: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (a TEXT NOT NULL)")
    connection.execute("INSERT INTO t VALUES (?)", (storable(text),))
    assert restored(connection.execute("SELECT a FROM t").fetchone()[0]) == text
    connection.close()


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_the_current_branch_is_the_one_chosen_or_the_newest(
    data: st.DataObject, history: History
) -> None:
    """Against a model of the tree in memory."""
    chat = history.add_chat("root", "")
    parents: dict[int, int | None] = {}
    chosen: int | None = None
    for n in range(data.draw(st.integers(1, 12))):
        parent = data.draw(st.sampled_from([None, *parents]))
        parents[add(history, chat, parent, f"turn {n}")] = parent
        chosen = None
        if data.draw(st.booleans()):
            through = data.draw(st.sampled_from(list(parents)))
            chosen = max(t for t in parents if through in path(t, parents))
            history.set_leaf(chat, chosen)
    leaf = max(parents) if chosen is None else chosen
    assert [turn for turn, _ in history.turns(chat)] == path(leaf, parents)
    assert history.leaf(chat) == leaf
    for turn, parent in parents.items():
        children = [t for t, p in parents.items() if p == turn]
        assert history.children(chat, turn) == children
        assert history.siblings(turn) == [t for t, p in parents.items() if p == parent]


def path(turn: int | None, parents: dict[int, int | None]) -> list[int]:
    turns: list[int] = []
    while turn is not None:
        turns.insert(0, turn)
        turn = parents[turn]
    return turns


def test_a_very_long_chat_and_message(history: History) -> None:
    chat = history.add_chat("long", "")
    parent: int | None = None

    def fill() -> None:
        nonlocal parent
        for n in range(2000):
            parent = history.insert(chat, parent, NewTurn("user", f"turn {n}"))

    history.transaction(fill)
    lines = "a line with ‮ and \x1b[31m\n" * 10_000
    add(history, chat, parent, lines)
    turns = history.turns(chat)
    assert len(turns) == 2001
    assert turns[-1][1].text == lines


def test_answers_come_in_order_from_where_one_left_off(history: History) -> None:
    chat = history.add_chat("a chat", "")
    wanted = []

    def fill() -> None:
        for n in range(300):
            status = ("done", "stopped", "failed", "streaming")[n % 4]
            turn = NewTurn(
                ("assistant", "user")[n % 3 == 0],
                f"text {n}",
                status,
                "tiny",
                array("i", [n]) if n % 2 else None,
                "0123456789abcdef",
            )
            number = history.insert(chat, None, turn)
            if turn.role == "assistant" and status in ("done", "stopped"):
                wanted.append((number, turn))

    history.transaction(fill)
    answers = list(history.answers())
    assert [answer.turn for answer in answers] == [number for number, _ in wanted]
    for answer, (_, turn) in zip(answers, wanted, strict=True):
        assert (answer.text, answer.tokens) == (turn.text, turn.tokens)
        assert (answer.fingerprint, answer.title) == (turn.fingerprint, "a chat")
    assert history.answer_ids() == [(number, chat) for number, _ in wanted]
    after = wanted[50][0]
    assert [answer.turn for answer in history.answers(after)] == [n for n, _ in wanted[51:]]


def test_chats_used_last_come_first(history: History) -> None:
    first, second = history.add_chat("first", "be kind"), history.add_chat("second", "")
    assert history.last_chat() == second
    turn = history.add_turn(first, None, "assistant", "", "streaming", "tiny")
    assert history.last_chat() == first
    history.add_turn(second, None, "user", "x", "done", "tiny")
    history.update_turn(turn, "yes", [1], "done")
    assert [(c.id, c.turns, c.system) for c in history.chats()] == [
        (first, 1, "be kind"),
        (second, 1, ""),
    ]
    assert [chat.id for chat in history.chats(1)] == [first]


def test_an_answer_whose_program_ended_is_marked(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with contextlib.closing(History(path)) as history:
        chat = history.add_chat("x", "")
        long_ago = NewTurn("assistant", "partial answer", "streaming", created=time.time() - 100)
        old = history.insert(chat, None, long_ago)
        history.insert(chat, old, NewTurn("assistant", "being written", "streaming"))
    with contextlib.closing(History(path)) as history:
        assert [turn.status for _, turn in history.turns(chat)] == ["failed", "streaming"]
        assert [hit.turn for hit in history.search("partial")] == [old]
        # Should it be alive after all, what it writes counts.
        assert history.update_turn(old, "whole answer", [1], "done")
        assert history.turns(chat)[0][1] == StoredTurn("assistant", "whole answer", "done", "")
        assert history.search("partial") == []
        assert [hit.turn for hit in history.search("whole")] == [old]


@given(text=ANY_TEXT)
def test_titles_are_harmless_and_of_one_line(text: str) -> None:
    title = title_of(text)
    assert len(title) <= 60
    assert not any(unicodedata.category(c) == "Cc" or c in "\u202e\u2028\u2029" for c in title)
    title.encode()
    assert title_of(title) == title


def test_titles_come_from_the_first_message_and_can_be_changed(history: History) -> None:
    chat = history.add_chat("  What is\n\nthis?  " + "x" * 100, "")
    assert history.chat(chat).title.startswith("What is this? xx")
    history.rename(chat, "Some\nthing \x1b[31melse")
    assert history.chat(chat).title == "Some thing [31melse"
    for act in (history.rename, lambda chat, _: history.chat(chat)):
        with pytest.raises(NoSuchChat):
            act(99, "x")


def test_a_turn_that_was_deleted_cannot_be_updated(history: History) -> None:
    chat = history.add_chat("x", "")
    turn = add(history, chat, None, "x")
    history.delete_chats([chat])
    assert not history.update_turn(turn, "y", [], "done")


def test_without_write_ahead_logging_all_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a file system that cannot do it."""
    path = tmp_path / "history.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE x (a)")
        connection.execute("DROP TABLE x")
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    real = sqlite3.connect

    class NoLog(sqlite3.Connection):
        def execute(self, sql: str, *parameters: object) -> sqlite3.Cursor:
            if "journal_mode" in sql:
                raise sqlite3.OperationalError("no shared memory here")
            return super().execute(sql, *parameters)  # type: ignore[arg-type]

    monkeypatch.setattr(
        "sssd_chat.conversation.history.opening.sqlite3.connect",
        lambda *args, **options: real(*args, factory=NoLog, **options),
    )
    with contextlib.closing(History(path)) as history, contextlib.closing(History(path)) as other:
        chat = history.add_chat("the marker", "")
        add(other, chat, None, "the marker")
        assert [turn.text for _, turn in history.turns(chat)] == ["the marker"]
        history.delete_chats([chat])
        assert other.chats() == []
    assert not list(tmp_path.glob("*-wal"))
    assert b"marker" not in path.read_bytes()
