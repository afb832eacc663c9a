"""Keeping one running chat, without holding it up."""

from __future__ import annotations

import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

from sssd_chat.conversation.history.database import History
from sssd_chat.conversation.history.turns import NoSuchChat, StoredTurn
from sssd_chat.errors import UserError, reason

_Result = TypeVar("_Result")


class ChatRecorder:
    """Keeps one running chat in the history, writing in a thread of its own.

    When the disk refuses, the chat goes on; `problem` then says what is not kept.
    """

    def __init__(self, path: Path, *, resume: bool = False, chat: int | None = None) -> None:
        """With `resume` the chat used last goes on, with `chat` that one; see `earlier`."""
        self.problem = ""
        self.system = ""
        """The system prompt of the chat that goes on, known after `earlier`."""
        self._path = path
        self._resume = resume
        self._wanted = chat
        self._history: History | None = None
        self._chat: int | None = None
        self._last_turn: int | None = None
        self._answer: int | None = None
        self._lost_turns = False
        """Whether the chat was deleted and went on: the first of its turns are in no history."""
        self._model = ""
        self._fingerprint = ""
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)
        self._thread.start()

    @property
    def chat(self) -> int | None:
        """The number of the chat; None before the first question of a new one was kept."""
        return self._chat

    def is_kept(self) -> bool:
        """Whether all that was said in the chat is in the history: not when it was deleted
        meanwhile, perhaps by another program, even if what followed is a chat of its own."""
        return self._submit(self._has_all).result() is True

    def earlier(self) -> list[StoredTurn]:
        """The turns of the chat that goes on; empty for a new chat. Raises NoSuchChat when a chat
        was named that there is not."""
        if not self._resume and self._wanted is None:
            return []
        return self._submit(self._read_earlier).result() or []

    def question(self, text: str, system: str, model: str, fingerprint: str = "") -> bool:
        """Keeps a question; returns when it is on the disk. `fingerprint` is that of the vocabulary
        of the answer's tokens. False when it could not be kept; then `problem` says why."""
        future = self._submit(lambda: self._write_question(text, system, model, fingerprint))
        return future.result() is True

    def answer(
        self, text: str, tokens: list[int], status: str, parameters: str = "", statistics: str = ""
    ) -> Future[int | None]:
        """Keeps the answer as it is now; returns at once. `parameters` and `statistics` are JSON
        objects, see `sssd_chat.conversation.history.particulars`. The result is the number of the
        turn once it is on the disk, or None when it could not be kept."""
        snapshot = list(tokens)
        return self._submit(
            lambda: self._write_answer(text, snapshot, status, parameters, statistics)
        )

    def new_chat(self) -> None:
        """The next question begins a chat of its own."""
        self._submit(self._forget).result()

    def close(self) -> None:
        """Writes what is waiting and closes the database."""
        self._work.put(None)
        self._thread.join()

    # In the thread

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()
        if self._history is not None:
            with contextlib.suppress(OSError, sqlite3.Error, UserError):
                self._history.finish_deleting()
            self._history.close()

    def _submit(self, work: Callable[[], _Result]) -> Future[_Result | None]:
        future: Future[_Result | None] = Future()

        def run() -> None:
            try:
                result = work()
                self.problem = ""
                future.set_result(result)
            except NoSuchChat as error:
                future.set_exception(error)
            except (OSError, sqlite3.Error, UserError) as error:
                self.problem = f"This chat is not being kept: {reason(error)}."
                future.set_result(None)

        self._work.put(run)
        return future

    def _open(self) -> History:
        if self._history is None:
            self._history = History(self._path)
        return self._history

    def _has_all(self) -> bool:
        return not self._lost_turns and self._chat is not None and self._open().has_chat(self._chat)

    def _forget(self) -> None:
        self._chat = self._last_turn = self._answer = None
        self._lost_turns = False
        self.system = ""

    def _read_earlier(self) -> list[StoredTurn]:
        history = self._open()
        chat = history.last_chat() if self._wanted is None else self._wanted
        if chat is None:
            return []
        self.system = history.chat(chat).system
        turns = history.turns(chat)
        self._chat, self._last_turn = chat, turns[-1][0] if turns else None
        return [turn for _, turn in turns]

    def _write_question(self, text: str, system: str, model: str, fingerprint: str) -> bool:
        history = self._open()
        self._answer, self._model, self._fingerprint = None, model, fingerprint

        def write() -> None:
            if self._chat is None or not history.has_chat(self._chat):
                # Deleted meanwhile, perhaps by another program: what follows is a chat of its own.
                self._lost_turns = self._lost_turns or self._chat is not None
                self._chat, self._last_turn = history.add_chat(text, system), None
            self._last_turn = history.add_turn(
                self._chat, self._last_turn, "user", text, "done", model, fingerprint
            )

        before = self._chat, self._last_turn
        try:
            history.transaction(write)
        except BaseException:
            self._chat, self._last_turn = before
            raise
        return True

    def _write_answer(
        self, text: str, tokens: list[int], status: str, parameters: str, statistics: str
    ) -> int | None:
        if self._chat is None or self._last_turn is None:
            return None
        history, chat, question = self._open(), self._chat, self._last_turn
        answer = self._answer

        def write() -> None:
            nonlocal answer
            if not history.has_chat(chat):
                raise UserError("it was deleted meanwhile; the next question begins a new one.")
            if answer is None:
                answer = history.add_turn(
                    chat, question, "assistant", text, "streaming", self._model, self._fingerprint
                )
            history.update_turn(answer, text, tokens, status, parameters, statistics)

        history.transaction(write)
        if status == "streaming":
            self._answer = answer
        else:
            self._last_turn, self._answer = answer, None
        return answer
