"""The engine thread, as the screen sees it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from sssd_chat.conversation.engine_thread.commands import (
    Asking,
    AskInstead,
    Attach,
    ChooseSibling,
    Close,
    Command,
    ContinueAnswer,
    DeleteTurn,
    Detach,
    Draft,
    Inbox,
    LoadModel,
    NewChat,
    OpenChat,
    Regenerate,
    Send,
    SetParameters,
    SetSystem,
    Verify,
)
from sssd_chat.conversation.engine_thread.loading import Check, EngineSettingsOf
from sssd_chat.conversation.engine_thread.outbox import Outbox
from sssd_chat.conversation.engine_thread.thread import Work
from sssd_chat.conversation.events import AnswerParameters, Event

if TYPE_CHECKING:
    from sssd_chat.conversation.history import ChatRecorder
    from sssd_chat.conversation.learning import LearningSettings
    from sssd_chat.conversation.session import ChatSettings


class EngineThread:
    """A ChatBackend (see there) over the real engine."""

    def __init__(
        self,
        engine_settings: EngineSettingsOf,
        chat_settings: Callable[[], ChatSettings],
        recorder: ChatRecorder | None = None,
        learning: Callable[[], LearningSettings] | None = None,
        *,
        check: Check | None = None,
        system: str | None = None,
    ) -> None:
        """The settings are asked for in the engine thread, since making them imports the engine.
        The recorder keeps the chat; None keeps nothing. With `learning`, the datastore is looked
        after, and kept answers join it. With `check`, a model file is looked at before the one that
        is loaded is given up for it. `system` is the system prompt of the first chat, whatever that
        has itself."""
        self._recorder = recorder
        self._inbox = Inbox()
        self._outbox = Outbox()
        self._asking: Asking | None = None
        self._verifying: Asking | None = None
        self._guard = threading.Lock()
        self._work = Work(
            self._inbox,
            self._outbox,
            engine_settings,
            chat_settings,
            recorder,
            learning,
            check,
            system,
        )
        self._thread = threading.Thread(target=self._work.run, name="engine", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def close(self) -> None:
        """Ends the thread after its current step; the model is freed."""
        self._outbox.closing.set()
        self._stop_for(Close())
        if self._thread.is_alive():
            self._thread.join()

    def events(self) -> list[Event]:
        """The events since the last call."""
        return self._outbox.take()

    # Answers

    def send(self, text: str) -> None:
        """Asks a question, unless one is being answered."""
        self._ask(Send(text))

    def ask_instead(self, turn: int, text: str) -> None:
        """Asks another question in place of one."""
        self._ask(AskInstead(turn, text))

    def regenerate(self, turn: int, parameters: AnswerParameters | None = None) -> None:
        """Asks for another answer in place of one."""
        self._ask(Regenerate(turn, parameters))

    def continue_answer(self, turn: int) -> None:
        """Goes on writing an answer."""
        self._ask(ContinueAnswer(turn))

    def verify(self) -> None:
        """Replays the last answer, unless that is being done."""
        with self._guard:
            if self._verifying is not None and self._verifying.is_under_way:
                return
            self._verifying = Verify()
            self._inbox.put(self._verifying)

    def cancel(self) -> None:
        """Stops the answer, and replaying one."""
        with self._guard:
            for asking in (self._asking, self._verifying):
                if asking is not None:
                    asking.stop.set()

    def set_drafting(self, on: bool) -> None:
        """Drafts or not, from the next step."""
        self._work.drafts_wanted = on

    def _ask(self, command: Asking) -> None:
        with self._guard:
            if self._asking is not None and self._asking.is_under_way:
                return
            if self._verifying is not None:
                self._verifying.stop.set()
            self._asking = command
            self._inbox.put(command)

    def _stop_for(self, command: Command) -> None:
        """Puts a command in front of which the running answer ends."""
        self.cancel()
        self._inbox.put(command)

    # The chat

    def new_chat(self) -> None:
        """Begins an empty conversation."""
        self._stop_for(NewChat())

    def open_chat(self, chat: int) -> None:
        """Opens another chat."""
        self._stop_for(OpenChat(chat))

    def choose_sibling(self, turn: int, step: int) -> None:
        """Goes on with the newest branch of a turn beside this one."""
        self._stop_for(ChooseSibling(turn, step))

    def delete_turn(self, turn: int) -> None:
        """Deletes a turn and what follows it."""
        self._stop_for(DeleteTurn(turn))

    def set_system(self, text: str) -> None:
        """Another system prompt for this chat."""
        self._inbox.put(SetSystem(text))

    def set_parameters(self, parameters: AnswerParameters) -> None:
        """Other parameters for this chat."""
        self._inbox.put(SetParameters(parameters))

    def load_model(self, path: str) -> None:
        """Goes on with another model."""
        self._stop_for(LoadModel(path))

    # The prompt

    def draft(self, text: str) -> None:
        """Keeps what is typed for reading it ahead."""
        self._work.prompt = text
        self._inbox.put(Draft())

    def save_prompt(self, text: str) -> None:
        """Keeps what is typed with the chat. Not by the engine thread, which may be reading
        ahead."""
        if self._recorder is not None:
            self._recorder.keep_prompt(text)

    def count_tokens(self, text: str) -> None:
        """Counts the tokens of what is typed, in a thread for that alone."""
        self._work.counting.count(text)

    def attach(self, path: str) -> None:
        """Reads a document for the next question."""
        self._inbox.put(Attach(path))

    def detach(self) -> None:
        """Lets go of such documents."""
        self._inbox.put(Detach())
