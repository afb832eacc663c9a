"""Keeping one running chat, without holding it up."""

from __future__ import annotations

import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from sssd_chat.conversation.history.database import History
from sssd_chat.conversation.history.figures import Figures
from sssd_chat.conversation.history.turns import (
    ChatSummary,
    NoSuchChat,
    NoSuchTurn,
    StoredTurn,
    TurnRecord,
)
from sssd_chat.errors import UserError, reason

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class OpenedChat:
    """A chat as the history has it."""

    summary: ChatSummary
    turns: tuple[TurnRecord, ...]
    """Those of all branches, oldest first."""
    leaf: int | None
    """The last turn of the branch that goes on; None for a chat without turns."""
    prompt: str
    """What stood in the prompt when it was left."""


class ChatRecorder:
    """Keeps one running chat in the history, writing in a thread of its own.

    When the disk refuses, the chat goes on; `problem` then says what is not kept. What is asked of
    it is done in that order.
    """

    def __init__(self, path: Path, *, resume: bool = False, chat: int | None = None) -> None:
        """With `resume` the chat used last goes on, with `chat` that one; see `opened`."""
        self.problem = ""
        self.system = ""
        """The system prompt of the chat that goes on, known after `opened`."""
        self._path = path
        self._resume = resume
        self._wanted = chat
        self._history: History | None = None
        self._chat: int | None = None
        self._last_turn: int | None = None
        self._answer: int | None = None
        self._lost_turns = False
        """Whether the chat was deleted and went on: the first of its turns are in no history."""
        self._complete_at: tuple[int, int] | None = None
        """The chat and the state of the database in which nothing of it was missing."""
        self._model = ""
        self._fingerprint = ""
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)
        self._thread.start()

    @property
    def chat(self) -> int | None:
        """The number of the chat; None before the first question of a new one was kept."""
        return self._chat

    def close(self) -> None:
        """Writes what is waiting and closes the database."""
        self._work.put(None)
        self._thread.join()

    # The chat that goes on

    def opened(self) -> OpenedChat | None:
        """The chat that goes on; None for a new chat. Raises NoSuchChat when a chat was named that
        there is not."""
        if not self._resume and self._wanted is None:
            return None
        return self._submit(self._open_wanted).result()

    def earlier(self) -> list[StoredTurn]:
        """The turns of the chat that goes on, along its branch; empty for a new chat. Raises
        NoSuchChat as `opened` does."""
        chat = self.opened()
        if chat is None:
            return []
        known = {turn.id: turn for turn in chat.turns}
        branch: list[StoredTurn] = []
        number = chat.leaf
        while number is not None:
            turn = known[number]
            branch.append(StoredTurn(turn.role, turn.text, turn.status, turn.model))
            number = turn.parent
        return branch[::-1]

    def read(self, chat: int) -> OpenedChat | None:
        """Another chat, which is not gone on with yet; None when it cannot be read. Raises
        NoSuchChat."""
        return self._submit(lambda: self._read(chat)).result()

    def go_on_with(self, chat: OpenedChat) -> None:
        """What follows belongs to this chat."""
        self._submit(lambda: self._enter(chat)).result()

    def new_chat(self) -> None:
        """The next question begins a chat of its own."""
        self._submit(self._leave).result()

    def is_kept(self) -> bool:
        """Whether all that was said in the chat is in the history: not when it was deleted
        meanwhile, perhaps by another program, even if what followed is a chat of its own."""
        return self._submit(self._has_all).result() is True

    def lost(self, turns: Sequence[int]) -> bool:
        """Whether the chat, or one of these turns of it, was deleted by somebody else."""
        return self._submit(lambda: not self._has(turns)).result() is True

    # A turn

    def question(self, text: str, system: str, model: str, fingerprint: str = "") -> int | None:
        """Keeps a question, and returns its number when it is on the disk. `fingerprint` is that of
        the vocabulary of the answer's tokens. None when it could not be kept; then `problem` says
        why."""
        return self._submit(lambda: self._write_question(text, system, model, fingerprint)).result()

    def answer(
        self,
        text: str,
        tokens: list[int],
        status: str,
        parameters: str = "",
        statistics: str = "",
        spans: str = "",
    ) -> Future[int | None]:
        """Keeps the answer as it is now; returns at once. `parameters` and `statistics` are JSON
        objects, see `sssd_chat.conversation.history.particulars`; `spans` as `packed_spans` gave
        them. The result is the number of the turn once it is on the disk, or None when it could not
        be kept."""
        snapshot = list(tokens)
        return self._submit(
            lambda: self._write_answer(text, snapshot, status, parameters, statistics, spans)
        )

    def follow(self, turn: int | None, model: str = "", fingerprint: str = "") -> None:
        """What comes next follows this turn; None for the beginning of the chat. An answer is one
        of this model."""

        def follow() -> None:
            self._last_turn, self._answer = turn, None
            self._model, self._fingerprint = model, fingerprint

        self._submit(follow)

    def go_on_writing(self, answer: int) -> None:
        """The next answer is this one, with more of it."""

        def go_on() -> None:
            self._answer = answer

        self._submit(go_on)

    # The chat

    def choose(self, leaf: int | None) -> None:
        """The chat goes on after this turn when it is opened again."""
        self._change(lambda history, chat: history.set_leaf(chat, leaf))

    def keep_prompt(self, text: str) -> None:
        """Keeps what stands in the prompt; returns at once."""
        self._submit(lambda: self._open().set_prompt(self._chat, text))

    def keep_system(self, text: str) -> None:
        """Gives the chat another system prompt; returns at once."""
        self._change(lambda history, chat: history.set_system(chat, text))

    def keep_parameters(self, parameters: str) -> None:
        """Gives the chat other parameters (a JSON object); returns at once."""
        self._change(lambda history, chat: history.set_parameters(chat, parameters))

    def delete_turns(self, turns: Sequence[int]) -> list[int] | None:
        """Deletes turns with all that follow them, and returns their numbers; they are taken off
        the disk next. None when they could not be deleted; then `problem` says why. Raises
        NoSuchTurn."""
        return self._submit(lambda: self._delete(turns)).result()

    def erase(self) -> Future[bool | None]:
        """Takes what was deleted off the disk; `problem` says when that is not possible yet."""

        def erase() -> bool:
            self._open().finish_deleting()
            return True

        return self._submit(erase)

    def new_prompt(self) -> str:
        """What stood in the prompt when the program ended before a chat was begun."""
        return self._submit(lambda: self._open().prompt(None)).result() or ""

    def title(self) -> str:
        """The title of the chat; empty when it is not kept."""

        def title() -> str:
            return "" if self._chat is None else self._open().chat(self._chat).title

        return self._submit(title).result() or ""

    def figures_by_week(self) -> dict[int, Figures]:
        """What the answers of each week cost and gained; none when they cannot be read."""
        return self._submit(lambda: self._open().figures_by_week()).result() or {}

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
            except (NoSuchChat, NoSuchTurn) as error:
                future.set_exception(error)
            except (OSError, sqlite3.Error, UserError) as error:
                self.problem = f"This chat is not being kept: {reason(error)}."
                future.set_result(None)

        self._work.put(run)
        return future

    def _change(self, change: Callable[[History, int], None]) -> None:
        """Changes the chat, once there is one."""

        def run() -> None:
            if self._chat is not None:
                change(self._open(), self._chat)

        self._submit(run)

    def _open(self) -> History:
        if self._history is None:
            self._history = History(self._path)
        return self._history

    def _has_all(self) -> bool:
        return not self._lost_turns and self._chat is not None and self._open().has_chat(self._chat)

    def _has(self, turns: Sequence[int]) -> bool:
        if self._chat is None:
            return True
        history = self._open()
        state = self._chat, history.changes_by_others()
        if state == self._complete_at:
            return True
        has_all = history.has_chat(self._chat) and history.has_turns(turns)
        self._complete_at = state if has_all else None
        return has_all

    def _leave(self) -> None:
        self._chat = self._last_turn = self._answer = None
        self._lost_turns = False
        self.system = ""

    def _open_wanted(self) -> OpenedChat | None:
        history = self._open()
        number = history.last_chat() if self._wanted is None else self._wanted
        if number is None:
            return None
        chat = self._read(number)
        self._enter(chat)
        return chat

    def _read(self, number: int) -> OpenedChat:
        history = self._open()
        summary = history.chat(number)
        turns = tuple(history.records(number))
        return OpenedChat(summary, turns, history.leaf(number), history.prompt(number))

    def _enter(self, chat: OpenedChat) -> None:
        self._leave()
        self._chat, self._last_turn = chat.summary.id, chat.leaf
        self.system = chat.summary.system

    def _delete(self, turns: Sequence[int]) -> list[int]:
        assert self._chat is not None
        return self._open().delete_turns(self._chat, turns)

    def _write_question(self, text: str, system: str, model: str, fingerprint: str) -> int | None:
        history = self._open()
        self._model, self._fingerprint, self._answer = model, fingerprint, None

        def write() -> None:
            if self._chat is None or not history.has_chat(self._chat):
                # Deleted meanwhile, perhaps by another program: what follows is a chat of its own.
                self._lost_turns = self._lost_turns or self._chat is not None
                self._chat, self._last_turn = history.add_chat(text, system), None
                history.set_prompt(None, "")
            self._last_turn = history.add_turn(
                self._chat, self._last_turn, "user", text, "done", model, fingerprint
            )
            history.set_prompt(self._chat, "")

        before = self._chat, self._last_turn
        try:
            history.transaction(write)
        except BaseException:
            self._chat, self._last_turn = before
            raise
        return self._last_turn

    def _write_answer(
        self,
        text: str,
        tokens: list[int],
        status: str,
        parameters: str,
        statistics: str,
        spans: str,
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
            history.update_turn(answer, text, tokens, status, parameters, statistics, spans)

        history.transaction(write)
        if status == "streaming":
            self._answer = answer
        else:
            self._last_turn, self._answer = answer, None
        return answer
