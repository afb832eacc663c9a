"""Commands about the chat itself: they need no model, and work while one loads."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from sssd_chat.conversation.attaching import WaitingAttachments
from sssd_chat.conversation.engine_thread.commands import (
    ChatCommand,
    ChooseSibling,
    DeleteTurn,
    NewChat,
    OpenChat,
    SetParameters,
    SetSystem,
)
from sssd_chat.conversation.engine_thread.forgetting import Forgetting
from sssd_chat.conversation.engine_thread.open_chat import ScreenChat
from sssd_chat.conversation.engine_thread.outbox import inside_problem
from sssd_chat.conversation.events import Event, Notice, TurnDeleted
from sssd_chat.conversation.history import NoSuchChat
from sssd_chat.errors import UserError

if TYPE_CHECKING:
    from sssd_chat.conversation.engine_thread.running import Running

log = logging.getLogger(__name__)


class ChatCommands:
    """For the engine thread."""

    def __init__(
        self,
        chat: ScreenChat,
        attachments: WaitingAttachments,
        forgetting: Forgetting,
        emit: Callable[[Event], None],
        drafting: Callable[[], bool],
    ) -> None:
        self._chat = chat
        self._attachments = attachments
        self._forgetting = forgetting
        self._emit = emit
        self._drafting = drafting

    def do(self, command: ChatCommand, running: Running | None) -> None:
        """Does it, with the model that is loaded, if one is."""
        try:
            match command:
                case NewChat():
                    self._begin_anew(running)
                case OpenChat(chat):
                    self._open(chat, running)
                case ChooseSibling(turn, step):
                    self._choose_sibling(turn, step)
                case DeleteTurn(turn):
                    self._delete(turn, running)
                case SetSystem(text):
                    self._chat.set_system(text)
                case SetParameters(parameters):
                    self._chat.set_parameters(parameters)
        except UserError as error:
            self._emit(Notice(str(error), "error"))
        except Exception:
            log.exception("a command failed")
            self._emit(Notice(inside_problem(), "error"))
        self._chat.tell_problem()

    def follow_others(self, running: Running | None) -> None:
        """Lets go of what somebody else deleted meanwhile: of the whole chat, or of turns."""
        chat = self._chat
        if not chat.has_lost():
            return
        number = chat.number
        if running is not None:
            # Not kept as it is: what was deleted must not come back.
            running.session.reset()
        try:
            if number is None:
                raise NoSuchChat(0)
            chat.enter(chat.read(number))
            self._emit(Notice("A part of this chat was deleted elsewhere."))
        except UserError:
            chat.begin_anew()
            self._emit(Notice("This chat was deleted elsewhere."))
        if running is not None:
            running.enter(chat, self._drafting())
            # The experience goes without the text as well.
            running.loaded.save()

    def _begin_anew(self, running: Running | None) -> None:
        self._leave(running)
        self._chat.begin_anew()
        self._enter(running)

    def _open(self, number: int, running: Running | None) -> None:
        opened = self._chat.read(number)
        self._leave(running)
        if number == self._chat.number:
            # What was kept of it a moment ago.
            opened = self._chat.read(number)
        self._chat.enter(opened)
        self._enter(running)

    def _leave(self, running: Running | None) -> None:
        self._attachments.clear()
        if running is not None:
            running.leave(self._chat)

    def _enter(self, running: Running | None) -> None:
        if running is not None:
            running.enter(self._chat, self._drafting())

    def _choose_sibling(self, turn: int, step: int) -> None:
        siblings = self._chat.tree.siblings(self._chat.find(turn).id)
        place = siblings.index(turn) + step
        if 0 <= place < len(siblings):
            self._chat.choose(siblings[place])
            self._chat.show()

    def _delete(self, turn: int, running: Running | None) -> None:
        chat = self._chat
        chat.find(turn)
        is_shown = any(each.id == turn for each in chat.tree.branch())
        has_siblings = len(chat.tree.siblings(turn)) > 1
        kept = chat.delete(turn)
        self._emit(TurnDeleted(turn))
        if has_siblings or not is_shown:
            chat.show()
        if running is not None:
            running.prepare(chat, self._drafting())
            running.session.forget_rest()
            running.tell_left_out()
        if kept and chat.number is not None:
            if running is not None and running.learner is not None:
                running.learner.forget(chat.number, kept)
            self._forgetting.forget(chat.number, kept)
