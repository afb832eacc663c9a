"""The history of chats on disk (SQLite).

A chat is a tree of turns: each turn names the one it follows. A question is committed before the
model starts on it; the answer is written again each second while it grows. All writing happens in
one thread, so a slow disk never holds up a step.
"""

from __future__ import annotations

import array
import contextlib
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from sssd_chat.errors import UserError
from sssd_chat.files import make_private_folder

SCHEMA_VERSION = 1
_BUSY_SECONDS = 10.0
_TITLE_LENGTH = 60

_SCHEMA = """
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
"""


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """One turn as it was kept."""

    role: str
    text: str
    status: str
    """"done", "streaming" (the program ended in the middle of it), "stopped" or "failed"."""
    model: str
    """The model that answered, or was asked."""


class History:
    """The database. Used from one thread at a time; other processes may use it too."""

    def __init__(self, path: Path) -> None:
        """Opens or makes the database, readable by its owner alone. Raises UserError when it is
        damaged or newer than this program, OSError or sqlite3.Error when the disk refuses."""
        make_private_folder(path.parent)
        path.touch(mode=0o600)
        self._path = path
        self._connection = sqlite3.connect(
            path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self._connection.close()
            if isinstance(error, sqlite3.OperationalError):
                raise
            raise UserError(
                f"{path} is not a readable database of chats; move it away to begin a new one."
            ) from error
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        connection = self._connection
        connection.execute("PRAGMA foreign_keys = ON")
        with contextlib.suppress(sqlite3.OperationalError):
            # Not to be had on every file system; the default journal serves as well, slower.
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        try:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                for statement in _SCHEMA.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        if version > SCHEMA_VERSION:
            raise UserError(
                f"{self._path} was written by a newer version of sssd-chat; update this one."
            )

    def close(self) -> None:
        """Closes the database."""
        self._connection.close()

    def add_chat(self, question: str, system: str) -> int:
        """Begins a chat, named after its first question; returns its number."""
        title = " ".join(question.split())[:_TITLE_LENGTH]
        cursor = self._connection.execute(
            "INSERT INTO chats (created, title, system) VALUES (?, ?, ?)",
            (time.time(), _storable(title), _storable(system)),
        )
        return int(cursor.lastrowid or 0)

    def add_turn(
        self, chat: int, parent: int | None, role: str, text: str, status: str, model: str
    ) -> int:
        """Adds a turn after `parent`; returns its number."""
        now = time.time()
        cursor = self._connection.execute(
            "INSERT INTO turns (chat, parent, role, text, status, model, created, updated)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (chat, parent, role, _storable(text), status, model, now, now),
        )
        return int(cursor.lastrowid or 0)

    def update_turn(self, turn: int, text: str, tokens: list[int], status: str) -> None:
        """Replaces the text, the exact token ids and the status of a turn."""
        self._connection.execute(
            "UPDATE turns SET text = ?, tokens = ?, status = ?, updated = ? WHERE id = ?",
            (_storable(text), array.array("i", tokens).tobytes(), status, time.time(), turn),
        )

    def last_chat(self) -> int | None:
        """The chat that was used last, None when there is none."""
        row = self._connection.execute(
            "SELECT chat FROM turns ORDER BY updated DESC, id DESC LIMIT 1"
        ).fetchone()
        return None if row is None else int(row[0])

    def turns(self, chat: int) -> list[tuple[int, StoredTurn]]:
        """The turns of a chat along its newest branch, oldest first, with their numbers."""
        rows = {
            row[0]: row
            for row in self._connection.execute(
                "SELECT id, parent, role, text, status, model FROM turns WHERE chat = ?",
                (chat,),
            )
        }
        branch: list[tuple[int, StoredTurn]] = []
        turn = max(rows, default=None)
        while turn is not None:
            _, parent, role, text, status, model = rows[turn]
            branch.append((turn, StoredTurn(role, text, status, model)))
            turn = parent
        return branch[::-1]

    def transaction(self, work: Callable[[], None]) -> None:
        """Runs `work` so that all of it is kept, or nothing."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            work()
            self._connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise


def _storable(text: str) -> str:
    """SQLite takes no lone surrogates, which a paste may hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


class ChatRecorder:
    """Keeps one running chat in the history, writing in a thread of its own.

    When the disk refuses, the chat goes on; `problem` then says what is not kept.
    """

    def __init__(self, path: Path, *, resume: bool = False) -> None:
        """With `resume`, the chat used last goes on; see `earlier`."""
        self.problem = ""
        self._path = path
        self._history: History | None = None
        self._chat: int | None = None
        self._last_turn: int | None = None
        self._answer: int | None = None
        self._model = ""
        self._work: queue.SimpleQueue[tuple[Callable[[], object], Future[object]] | None] = (
            queue.SimpleQueue()
        )
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)
        self._thread.start()
        self._resume = resume

    def earlier(self) -> list[StoredTurn]:
        """The turns of the chat that goes on; empty for a new chat."""
        if not self._resume:
            return []
        turns = self._wait(self._read_last)
        return turns if isinstance(turns, list) else []

    def question(self, text: str, system: str, model: str) -> bool:
        """Keeps a question; returns when it is on the disk. False when it could not be kept; then
        `problem` says why."""
        return self._wait(lambda: self._write_question(text, system, model)) is True

    def answer(self, text: str, tokens: list[int], status: str) -> None:
        """Keeps the answer as it is now; returns at once."""
        snapshot = list(tokens)
        self._submit(lambda: self._write_answer(text, snapshot, status))

    def new_chat(self) -> None:
        """The next question begins a chat of its own."""
        self._wait(self._forget)

    def close(self) -> None:
        """Writes what is waiting and closes the database."""
        self._work.put(None)
        self._thread.join()

    # In the thread

    def _run(self) -> None:
        while (item := self._work.get()) is not None:
            work, future = item
            try:
                future.set_result(work())
                self.problem = ""
            except (OSError, sqlite3.Error, UserError) as error:
                self.problem = f"This chat is not being kept: {error}"
                future.set_result(None)
        if self._history is not None:
            self._history.close()

    def _submit(self, work: Callable[[], object]) -> Future[object]:
        future: Future[object] = Future()
        self._work.put((work, future))
        return future

    def _wait(self, work: Callable[[], object]) -> object:
        return self._submit(work).result()

    def _open(self) -> History:
        if self._history is None:
            self._history = History(self._path)
        return self._history

    def _forget(self) -> None:
        self._chat = self._last_turn = self._answer = None

    def _read_last(self) -> list[StoredTurn]:
        history = self._open()
        self._chat = history.last_chat()
        if self._chat is None:
            return []
        turns = history.turns(self._chat)
        self._last_turn = turns[-1][0] if turns else None
        return [turn for _, turn in turns]

    def _write_question(self, text: str, system: str, model: str) -> bool:
        history = self._open()
        self._answer, self._model = None, model

        def write() -> None:
            if self._chat is None:
                self._chat = history.add_chat(text, system)
            self._last_turn = history.add_turn(
                self._chat, self._last_turn, "user", text, "done", model
            )

        before = self._chat, self._last_turn
        try:
            history.transaction(write)
        except BaseException:
            self._chat, self._last_turn = before
            raise
        return True

    def _write_answer(self, text: str, tokens: list[int], status: str) -> None:
        if self._chat is None or self._last_turn is None:
            return
        history, chat = self._open(), self._chat

        def write() -> None:
            if self._answer is None:
                self._answer = history.add_turn(
                    chat, self._last_turn, "assistant", text, status, self._model
                )
            history.update_turn(self._answer, text, tokens, status)

        history.transaction(write)
        if status != "streaming":
            self._last_turn, self._answer = self._answer, None
