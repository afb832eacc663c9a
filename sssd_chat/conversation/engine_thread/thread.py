"""The engine thread: it owns the model, the context and the drafter.

The screen talks to it through two queues. Commands go in; events come out through a bounded queue
that the screen empties 15 to 20 times a second. Stopping sets a flag that the engine looks at
between chunks of the prompt and between steps.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, get_args

from sssd_chat.conversation.attaching import WaitingAttachments
from sssd_chat.conversation.descriptions import describe_model
from sssd_chat.conversation.engine_thread.answering import Answering
from sssd_chat.conversation.engine_thread.chat_commands import ChatCommands
from sssd_chat.conversation.engine_thread.commands import (
    Action,
    Asking,
    Attach,
    ChatCommand,
    Close,
    Detach,
    Draft,
    Forgotten,
    Inbox,
    LoadModel,
    Send,
    Verify,
)
from sssd_chat.conversation.engine_thread.counting import Counting
from sssd_chat.conversation.engine_thread.forgetting import Forgetting
from sssd_chat.conversation.engine_thread.loading import Check, EngineSettingsOf, Loader
from sssd_chat.conversation.engine_thread.open_chat import ScreenChat
from sssd_chat.conversation.engine_thread.outbox import Outbox, inside_problem
from sssd_chat.conversation.engine_thread.waiting import next_action, read_ahead
from sssd_chat.conversation.events import (
    AnswerFailed,
    LifetimeChanged,
    ModelFailed,
    ModelReady,
    Notice,
    VerifyDone,
)
from sssd_chat.conversation.history import ChatRecorder
from sssd_chat.conversation.lifetime import LifetimeSums
from sssd_chat.errors import UserError

if TYPE_CHECKING:
    from sssd_chat.conversation.engine_thread.running import Running
    from sssd_chat.conversation.learning import LearningSettings
    from sssd_chat.conversation.session import ChatSettings

_NO_MODEL = "There is no model to answer."

log = logging.getLogger(__name__)


class Work:
    """What runs in the engine thread, from the first chat to the end."""

    def __init__(
        self,
        inbox: Inbox,
        outbox: Outbox,
        engine_settings: EngineSettingsOf,
        chat_settings: Callable[[], ChatSettings],
        recorder: ChatRecorder | None,
        learning: Callable[[], LearningSettings] | None,
        check: Check | None,
        system: str | None,
    ) -> None:
        """See `EngineThread`."""
        self.drafts_wanted = True
        self.prompt = ""
        """What stands in the prompt."""
        self.counting = Counting(outbox.emit)
        self._inbox = inbox
        self._closing = outbox.closing
        self._emit = outbox.emit
        self._chat_settings = chat_settings
        self._recorder = recorder
        self._check = check
        self._chat = ScreenChat(recorder, outbox.emit, system)
        self._attachments = WaitingAttachments(outbox.emit)
        self._forgetting = Forgetting(outbox.emit, lambda: inbox.put(Forgotten()))
        self._commands = ChatCommands(
            self._chat, self._attachments, self._forgetting, self._emit, self._are_drafts_wanted
        )
        self._loader = Loader(
            engine_settings, learning, inbox, self._commands, outbox.emit, outbox.closing
        )

    def run(self) -> None:
        """Works until the end."""
        try:
            self._work()
        except Exception:
            log.exception("the engine thread failed")
            self._emit(ModelFailed(inside_problem()))
        finally:
            self.counting.close()
            self._forgetting.close()
            if self._recorder is not None:
                self._recorder.close()

    def _are_drafts_wanted(self) -> bool:
        return self.drafts_wanted

    def _work(self) -> None:
        self._chat.open_first(lambda: self._chat_settings().system)
        weeks = None if self._recorder is None else self._recorder.figures_by_week()
        lifetime = LifetimeSums(weeks)
        self._emit(LifetimeChanged(lifetime.lifetime()))
        self._answering = Answering(self._chat, self._emit, lifetime, self._are_drafts_wanted)
        self.counting.start()
        base = self._chat_settings()
        if not base.generation.drafting:
            self.drafts_wanted = False
        command: Action = LoadModel("")
        good: str | None = None
        while isinstance(command, LoadModel):
            running = self._load(command.path or None, base, good)
            if running is None:
                command = self._do_without()
                continue
            good = str(running.loaded.model.path)
            try:
                command = self._serve(running)
            finally:
                self._end(running)

    # Models

    def _load(self, path: str | None, base: ChatSettings, before: str | None) -> Running | None:
        """The model, or the one before when it cannot be loaded; None for neither."""
        problem = ""
        for wanted in dict.fromkeys((path, before)):
            if wanted is None and wanted != path:
                break
            try:
                running = self._loader.load(wanted, base)
            except UserError as error:
                problem = problem or str(error)
                continue
            if running is not None and problem:
                self._emit(Notice(f"{problem} The model before goes on.", "error"))
            return running
        self._emit(ModelFailed(problem))
        return None

    def _do_without(self) -> Action:
        """Without a model every question fails, until another one is chosen or the screen
        closes."""
        while True:
            command = next_action(self._inbox, lambda: None, lambda: self._look_around(None))
            match command:
                case Close() | LoadModel():
                    return command
                case Asking():
                    command.finished.set()
                    is_question = not isinstance(command, Verify)
                    self._emit(
                        AnswerFailed(_NO_MODEL) if is_question else VerifyDone(False, _NO_MODEL)
                    )
                case Attach():
                    self._emit(Notice("There is no model to read a document.", "error"))
                case _ if isinstance(command, get_args(ChatCommand)):
                    self._commands.do(command, None)

    def _serve(self, running: Running) -> Action:
        """Does what is asked of a model, until another one is chosen or the screen closes."""
        running.enter(self._chat, self.drafts_wanted)
        self._emit(ModelReady(describe_model(running.loaded, running.session)))
        for notice in (running.loaded.notice, running.session.template.notice):
            if notice:
                self._emit(Notice(notice))
        running.tell_curve(None, now=True)
        while True:
            self.counting.follow(self._tokens_before(running))
            self.counting.use(running.loaded.model.vocabulary)
            command = next_action(
                self._inbox,
                lambda: self._read_ahead(running),
                lambda: self._look_around(running),
            )
            # What was asked before the model was there is kept by the screen when it closes.
            if isinstance(command, Close) or self._closing.is_set():
                running.leave(self._chat)
                return Close()
            if isinstance(command, LoadModel):
                if self._can_load(command.path, running):
                    running.leave(self._chat)
                    return command
                continue
            self._do(command, running)

    def _can_load(self, path: str, running: Running) -> bool:
        """Looks at a model file before the model that is there is given up."""
        try:
            if self._check is not None:
                self._check(path)
        except UserError as error:
            self._emit(Notice(str(error), "error"))
            self._emit(ModelReady(describe_model(running.loaded, running.session)))
            return False
        return True

    def _end(self, running: Running) -> None:
        self.counting.use(None)
        running.end()
        running.loaded.close()

    # Commands

    def _do(self, command: Action, running: Running) -> None:
        match command:
            case Verify():
                from sssd_chat.conversation.engine_thread.verifying import verify

                verify(running, self._chat, command, self._emit)
            case Asking():
                self._commands.follow_others(running)
                self._answering.run(running, command, self._message(command))
                running.save_now_and_then()
            case Attach(path):
                self._attachments.add(path, running.session, running.loaded, self._closing)
                # Reading it ahead can begin now.
                self._inbox.put(Draft())
            case Detach():
                self._attachments.clear()
            case Forgotten():
                # The experience in memory goes without the text, too.
                running.loaded.save()
            case _ if isinstance(command, get_args(ChatCommand)):
                self._commands.do(command, running)

    def _message(self, command: Asking) -> str:
        """The question of a Send, with the documents that go along."""
        if not isinstance(command, Send):
            return ""
        message = self._attachments.before(command.text)
        self._attachments.clear()
        return message

    # While nothing is asked

    def _read_ahead(self, running: Running) -> None:
        running.prepare(self._chat, self.drafts_wanted)
        message = self._attachments.before(self.prompt)
        read_ahead(running.session, message, self._inbox, self._emit)

    def _look_around(self, running: Running | None) -> None:
        self._commands.follow_others(running)

    def _tokens_before(self, running: Running) -> int:
        """Tokens of the context before what is typed."""
        running.prepare(self._chat, self.drafts_wanted)
        session = running.session
        try:
            return len(session.prompt(self._attachments.before("?")))
        except UserError:
            return session.context_tokens
