"""A database of an earlier version becomes one of this version, and a copy of it stays."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from array import array
from pathlib import Path

import pytest

from sssd_chat.conversation.history import History, StoredTurn
from sssd_chat.conversation.history.schema import SCHEMA_VERSION, backups_of

VERSION_1 = """
CREATE TABLE chats (
    id INTEGER PRIMARY KEY, created REAL NOT NULL, title TEXT NOT NULL, system TEXT NOT NULL
);
CREATE TABLE turns (
    id INTEGER PRIMARY KEY,
    chat INTEGER NOT NULL REFERENCES chats(id) ON DELETE CASCADE,
    parent INTEGER REFERENCES turns(id),
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    text TEXT NOT NULL,
    tokens BLOB,
    status TEXT NOT NULL CHECK (status IN ('done', 'streaming', 'stopped', 'failed')),
    model TEXT NOT NULL,
    created REAL NOT NULL,
    updated REAL NOT NULL
);
CREATE INDEX turns_of_chat ON turns(chat);
PRAGMA user_version = 1;
"""
TOKENS = array("i", [1, 2, 3])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database of version 1 with two chats."""
    path = tmp_path / "history.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(VERSION_1)
        connection.execute("INSERT INTO chats VALUES (3, 10, 'hello', 'be kind')")
        connection.execute("INSERT INTO chats VALUES (7, 20, 'empty', '')")
        turns = [
            (5, 3, None, "user", "hello a\0b", None, "done", "tiny", 10, 11),
            (6, 3, 5, "assistant", "good", TOKENS.tobytes(), "done", "tiny", 12, 13),
            (9, 3, 5, "assistant", "cut", TOKENS.tobytes(), "streaming", "tiny", 14, 15),
        ]
        connection.executemany("INSERT INTO turns VALUES (?,?,?,?,?,?,?,?,?,?)", turns)
        connection.commit()
    return path


def test_everything_is_there_afterwards(path: Path) -> None:
    with contextlib.closing(History(path)) as history:
        assert [(chat.id, chat.title, chat.system) for chat in history.chats()] == [
            (7, "empty", ""),
            (3, "hello", "be kind"),
        ]
        assert (history.chat(3).updated, history.chat(7).updated) == (15, 20)
        question, answer, cut = history.records(3)
        assert (question.text, question.tokens, question.parent) == ("hello a\0b", None, None)
        assert (answer.tokens, answer.fingerprint, answer.parent) == (TOKENS, "", 5)
        assert (answer.created, answer.updated) == (12, 13)
        assert (cut.id, cut.status) == (9, "failed")
        assert [turn for _, turn in history.turns(3)][1:] == [
            StoredTurn("assistant", "cut", "failed", "tiny")
        ]
        assert [hit.chat for hit in history.search("ELLO")] == [3]


def test_the_copy_beside_it_is_the_old_database(path: Path) -> None:
    History(path).close()
    (backup,) = backups_of(path)
    assert backup.stat().st_mode & 0o077 == 0
    with contextlib.closing(sqlite3.connect(backup)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM turns").fetchone() == (3,)
    before = backup.stat().st_mtime_ns
    History(path).close()
    assert backup.stat().st_mtime_ns == before


def test_without_the_copy_nothing_is_changed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Path:
        raise OSError("disk full")

    monkeypatch.setattr("sssd_chat.conversation.history.schema.back_up", refuse)
    with pytest.raises(OSError, match="disk full"):
        History(path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM turns").fetchone() == (3,)


def test_several_programs_may_find_the_old_database_at_once(path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from sssd_chat.conversation.history import History\n"
        f"history = History(Path({str(path)!r}))\nassert len(list(history.records(3))) == 3"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    assert len(backups_of(path)) == 1


def test_numbers_of_deleted_chats_and_turns_are_not_used_again(path: Path) -> None:
    with contextlib.closing(History(path)) as history:
        history.delete_everything()
        chat = history.add_chat("new", "")
        assert chat > 7
        assert history.add_turn(chat, None, "user", "new", "done", "tiny") > 9


def test_a_new_database_is_of_this_version_and_private(tmp_path: Path) -> None:
    path = tmp_path / "data" / "history.db"
    History(path).close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    assert backups_of(path) == []
    assert {oct(file.stat().st_mode & 0o777) for file in path.parent.iterdir()} == {"0o600"}
    assert path.parent.stat().st_mode & 0o077 == 0
