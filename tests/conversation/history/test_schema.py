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
from sssd_chat.conversation.history.figures import Figures
from sssd_chat.conversation.history.particulars import statistics_of
from sssd_chat.conversation.history.schema import SCHEMA_VERSION, backups_of
from sssd_chat.generation.statistics import AnswerStatistics

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


# From version 2


VERSION_2 = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE chats (
    id INTEGER PRIMARY KEY AUTOINCREMENT, created REAL NOT NULL, updated REAL NOT NULL,
    title TEXT NOT NULL, system TEXT NOT NULL, leaf INTEGER, origin TEXT
);
CREATE TABLE turns (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    chat INTEGER NOT NULL REFERENCES chats(id) ON DELETE CASCADE,
    parent INTEGER REFERENCES turns(id),
    role TEXT NOT NULL, status TEXT NOT NULL, model TEXT NOT NULL, fingerprint TEXT NOT NULL,
    created REAL NOT NULL, updated REAL NOT NULL, parameters TEXT NOT NULL,
    statistics TEXT NOT NULL, text TEXT NOT NULL, tokens BLOB
);
CREATE INDEX finished_answers ON turns(chat)
    WHERE role = 'assistant' AND status IN ('done', 'stopped');
CREATE INDEX streaming_answers ON turns(updated) WHERE status = 'streaming';
PRAGMA user_version = 2;
"""


def test_version_2_gains_what_is_beside_the_turns(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    measured = AnswerStatistics(emitted=10, draft_seconds=0.5, decode_seconds=1.5)
    measured.plain_seconds = 5.0
    unknown = AnswerStatistics(emitted=4, decode_seconds=1.0, plain_seconds=None)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(VERSION_2)
        connection.execute("INSERT INTO chats VALUES (3, 10, 20, 'hello', 'be kind', 6, NULL)")
        answer = (5, "assistant", "done", "tiny", "f", 12, 13, "{}")
        many = [
            (5, 3, None, "user", "done", "tiny", "f", 10, 11, "", "", "hello", None),
            (6, 3, *answer, statistics_of(measured, "end"), "good", TOKENS.tobytes()),
            (7, 3, *answer, statistics_of(unknown, "end"), "good", None),
            (8, 3, *answer, "{broken", "odd", None),
        ]
        connection.executemany(f"INSERT INTO turns VALUES ({','.join('?' * 13)})", many)
        connection.commit()
    with contextlib.closing(History(path)) as history:
        (chat,) = history.chats()
        assert (chat.title, chat.system, chat.parameters) == ("hello", "be kind", "")
        assert [turn for turn, _ in history.turns(3)] == [5, 6]
        assert history.branch(3)[1].tokens == TOKENS
        assert list(history.figures_by_week().values()) == [Figures(2, 14, 2.0, 5.0)]
        assert history.prompt(3) == history.prompt(None) == ""
        history.set_prompt(3, "half a")
        assert history.prompt(3) == "half a"
    (backup,) = backups_of(path)
    assert backup.name.endswith("v2-backup")
