"""The answer of `sssd-chat ask`, kept in the history."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from sssd_chat.cli import options as shared
from sssd_chat.errors import UserError, reason

if TYPE_CHECKING:
    from sssd_chat.config import Config
    from sssd_chat.conversation.history import ChatRecorder, History, StoredTurn
    from sssd_chat.conversation.session import ChatSession
    from sssd_chat.generation.engine import Generation
    from sssd_chat.generation.loading import State

_CHECKPOINT_SECONDS = 1.0


def open_history() -> History:
    """The history of chats. Raises UserError when it cannot be used."""
    import sqlite3

    from sssd_chat import paths
    from sssd_chat.conversation.history import History

    try:
        return History(paths.history_file())
    except (OSError, sqlite3.Error) as error:
        file = paths.history_file()
        raise UserError(f"{file} cannot be used: {reason(error, file)}.") from error


class Keeper:
    """Keeps one question and its answer, or nothing when they are not to be kept."""

    def __init__(self, options: argparse.Namespace, config: Config) -> None:
        """Opens the chat that goes on. Raises UserError when there is none or it cannot be read."""
        self.earlier: list[StoredTurn] = []
        self.turn: int | None = None
        """The number of the answer's turn, once it is on the disk."""
        self._recorder = _recorder(options, config)
        self._next = time.monotonic() + _CHECKPOINT_SECONDS
        if self._recorder is None:
            return
        try:
            self.earlier = self._recorder.earlier()
            if shared.wants_chat(options) and self._recorder.problem:
                raise UserError(self._recorder.problem)
        except BaseException:
            self._recorder.close()
            raise

    @property
    def system(self) -> str | None:
        """The system prompt of the chat that goes on; None for a new one."""
        return self._recorder.system if self._recorder is not None and self.earlier else None

    @property
    def chat(self) -> int | None:
        """The number of the chat; None when nothing is kept."""
        return None if self._recorder is None else self._recorder.chat

    @property
    def problem(self) -> str:
        """Why something is not kept; empty if all is well."""
        return "" if self._recorder is None else self._recorder.problem

    def question(self, text: str, session: ChatSession, fingerprint: str) -> None:
        """Keeps the question; returns when it is on the disk or `problem` says why not."""
        if self._recorder is not None:
            system = session.settings.system
            self._recorder.question(text, system, session.model_name, fingerprint)

    def checkpoint(self, session: ChatSession, generation: Generation[State]) -> None:
        """Keeps the answer so far, each second."""
        if self._recorder is not None and time.monotonic() >= self._next:
            self._recorder.answer(session.written(generation), generation.tokens, "streaming")
            self._next = time.monotonic() + _CHECKPOINT_SECONDS

    def finish(self, session: ChatSession, generation: Generation[State]) -> None:
        """Keeps the answer as it is; returns when it is on the disk or `problem` says why not."""
        from sssd_chat.conversation.history.origins import packed_spans
        from sssd_chat.conversation.history.particulars import particulars_of

        if self._recorder is None:
            return
        reason = generation.stopped_by
        status = "stopped" if reason is None or reason.value == "cancelled" else "done"
        text, particulars = session.written(generation), particulars_of(generation)
        spans = packed_spans(session.spans(generation))
        kept = self._recorder.answer(text, generation.tokens, status, *particulars, spans)
        self.turn = kept.result()

    def resume_state(self, session: ChatSession) -> None:
        """Takes the kept state of the chat that goes on, so that it need not be read again."""
        from sssd_chat.conversation.kept_states import resume_state

        if self._recorder is not None:
            resume_state(session, self._recorder)

    def keep_state(self, session: ChatSession) -> None:
        """Keeps the state of the chat for the next question to it."""
        from sssd_chat.conversation.kept_states import keep_state

        if self._recorder is not None:
            keep_state(session, self._recorder)

    def close(self) -> None:
        """Closes the history."""
        if self._recorder is not None:
            self._recorder.close()


def _recorder(options: argparse.Namespace, config: Config) -> ChatRecorder | None:
    from sssd_chat import paths
    from sssd_chat.conversation.history import ChatRecorder

    if shared.wants_chat(options) and not config.history.keep:
        raise UserError(shared.NONE_KEPT)
    if not config.history.keep or not (shared.wants_chat(options) or config.history.keep_asked):
        return None
    return ChatRecorder(paths.history_file(), resume=options.resume, chat=options.chat)
