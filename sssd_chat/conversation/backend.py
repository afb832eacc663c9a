"""The engine thread: it owns the model, the context and the drafter.

The screen talks to it through two queues. Commands go in; events come out through a bounded queue
that the screen empties 15 to 20 times a second. Cancelling sets a flag that the engine looks at
between chunks of the prompt and between steps.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sssd_chat import paths
from sssd_chat.conversation.attaching import WaitingAttachments
from sssd_chat.conversation.descriptions import describe_model, describe_turn
from sssd_chat.conversation.events import (
    AnswerDone,
    AnswerFailed,
    AnswerParameters,
    AnswerStatistics,
    AnswerStep,
    ChatOpened,
    ContextFilled,
    Event,
    ModelFailed,
    ModelLoading,
    ModelReady,
    Notice,
    PromptRead,
    StoppedBy,
    TurnsLeftOut,
)
from sssd_chat.conversation.history import ChatRecorder, StoredTurn
from sssd_chat.conversation.keeping import ChatKeeping
from sssd_chat.errors import UserError

if TYPE_CHECKING:
    from sssd_chat.conversation.learning import LearningSettings
    from sssd_chat.conversation.session import ChatSession, ChatSettings
    from sssd_chat.generation.engine import Generation
    from sssd_chat.generation.loading import EngineSettings, LoadedEngine, State

log = logging.getLogger(__name__)

_WAITING_EVENTS = 1024
_CHECKPOINT_SECONDS = 1.0
_SAVE_SECONDS = 120.0
_TYPING_PAUSE_SECONDS = 0.2
"""After so long without a key, what stands in the prompt is read ahead."""


@dataclass(frozen=True, slots=True)
class _Send:
    text: str


@dataclass(frozen=True, slots=True)
class _Draft:
    pass


@dataclass(frozen=True, slots=True)
class _Attach:
    path: str


@dataclass(frozen=True, slots=True)
class _Detach:
    pass


@dataclass(frozen=True, slots=True)
class _NewChat:
    pass


@dataclass(frozen=True, slots=True)
class _Close:
    pass


_Action = _Send | _Attach | _Detach | _NewChat | _Close
_Command = _Action | _Draft


class EngineThread:
    """A ChatBackend (see `sssd_chat.conversation.events`) over the real engine."""

    def __init__(
        self,
        engine_settings: Callable[[], EngineSettings],
        chat_settings: Callable[[], ChatSettings],
        recorder: ChatRecorder | None = None,
        learning: Callable[[], LearningSettings] | None = None,
    ) -> None:
        """The settings are asked for in the engine thread, since making them imports the engine.
        The recorder keeps the chat; None keeps nothing. With `learning`, the datastore is looked
        after, and kept answers join it."""
        self._engine_settings = engine_settings
        self._chat_settings = chat_settings
        self._keeping = ChatKeeping(
            recorder, learning, lambda message: self._emit(Notice(message, "warning"))
        )
        self._commands: queue.SimpleQueue[_Command] = queue.SimpleQueue()
        self._events: queue.Queue[Event] = queue.Queue(_WAITING_EVENTS)
        self._cancelled = threading.Event()
        self._closing = threading.Event()
        self._drafting_wanted = True
        self._busy = threading.Event()
        self._draft = ""
        self._attachments = WaitingAttachments(self._emit)
        self._reused: int | None = None
        self._left_out = 0
        self._next_save = time.monotonic() + _SAVE_SECONDS
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    # Called by the screen

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def send(self, text: str) -> None:
        """Asks a question, unless one is being answered."""
        if self._busy.is_set():
            return
        self._busy.set()
        self._cancelled.clear()
        self._commands.put(_Send(text))

    def draft(self, text: str) -> None:
        """Keeps what is typed for reading it ahead."""
        self._draft = text
        self._commands.put(_Draft())

    def attach(self, path: str) -> None:
        """Reads a document for the next question."""
        self._commands.put(_Attach(path))

    def detach(self) -> None:
        """Lets go of such documents."""
        self._commands.put(_Detach())

    def cancel(self) -> None:
        """Stops the answer."""
        self._cancelled.set()

    def new_chat(self) -> None:
        """Begins an empty conversation."""
        self._cancelled.set()
        self._commands.put(_NewChat())

    def set_drafting(self, on: bool) -> None:
        """Drafts or not, from the next step."""
        self._drafting_wanted = on

    def ask_instead(self, turn: int, text: str) -> None:
        """See ChatBackend."""
        self._tell_missing()

    def regenerate(self, turn: int, parameters: AnswerParameters | None = None) -> None:
        """See ChatBackend."""
        self._tell_missing()

    def continue_answer(self, turn: int) -> None:
        """See ChatBackend."""
        self._tell_missing()

    def verify(self) -> None:
        """See ChatBackend."""
        self._tell_missing()

    def open_chat(self, chat: int) -> None:
        """See ChatBackend."""
        self._tell_missing()

    def choose_branch(self, turn: int) -> None:
        """See ChatBackend."""
        self._tell_missing()

    def choose_sibling(self, turn: int, step: int) -> None:
        """See ChatBackend."""
        self._tell_missing()

    def delete_turn(self, turn: int) -> None:
        """See ChatBackend."""
        self._tell_missing()

    def set_system(self, text: str) -> None:
        """See ChatBackend."""
        self._tell_missing()

    def set_parameters(self, parameters: AnswerParameters) -> None:
        """See ChatBackend."""
        self._tell_missing()

    def load_model(self, path: str) -> None:
        """See ChatBackend."""
        self._tell_missing()

    def save_prompt(self, text: str) -> None:
        """See ChatBackend."""

    def count_tokens(self, text: str) -> None:
        """See ChatBackend."""

    def _tell_missing(self) -> None:
        self._emit(Notice("This is not possible yet."))

    def events(self) -> list[Event]:
        """The events since the last call."""
        events: list[Event] = []
        while True:
            try:
                events.append(self._events.get_nowait())
            except queue.Empty:
                return events

    def close(self) -> None:
        """Ends the thread after its current step; the model is freed."""
        self._closing.set()
        self._cancelled.set()
        self._commands.put(_Close())
        if self._thread.is_alive():
            self._thread.join()

    # In the engine thread

    def _emit(self, event: Event) -> None:
        while not self._closing.is_set():
            try:
                self._events.put(event, timeout=0.1)
            except queue.Full:
                continue
            return

    def _run(self) -> None:
        try:
            earlier = self._restore()
            loaded = self._load()
            if loaded is None:
                self._refuse_questions()
                return
            try:
                self._keeping.open(loaded)
                self._serve(loaded, earlier)
            finally:
                self._keeping.close_learning()
                loaded.close()
        except Exception:
            log.exception("the engine thread failed")
            self._emit(ModelFailed(_inside_problem()))
        finally:
            self._keeping.close()

    def _restore(self) -> list[StoredTurn]:
        """The turns of the chat that goes on, which the screen can show while the model loads."""
        earlier = self._keeping.earlier()
        if earlier:
            self._emit(ChatOpened(None, "", tuple(map(describe_turn, earlier))))
        return earlier

    def _load(self) -> LoadedEngine | None:
        from sssd_chat.generation.loading import LoadCancelled, load_engine

        def progress(done: float) -> bool:
            self._emit(ModelLoading(done))
            return not self._closing.is_set()

        try:
            reads_ahead = self._chat_settings().read_ahead
            settings = replace(self._engine_settings(), reads_ahead=reads_ahead)
            loaded = load_engine(settings, progress)
        except UserError as error:
            self._emit(ModelFailed(str(error)))
            return None
        except LoadCancelled:
            return None
        return loaded

    def _refuse_questions(self) -> None:
        """Without a model every question fails, until the screen closes."""
        while not isinstance(command := self._commands.get(), _Close):
            if isinstance(command, _Send):
                self._emit(AnswerFailed("There is no model to answer."))
                self._busy.clear()
            elif isinstance(command, _Attach):
                self._emit(Notice("There is no model to read a document.", "error"))

    def _serve(self, loaded: LoadedEngine, earlier: list[StoredTurn]) -> None:
        from sssd_chat.conversation.session import ChatSession

        try:
            session = ChatSession(loaded, self._chat_settings())
        except UserError as error:
            self._emit(ModelFailed(str(error)))
            self._refuse_questions()
            return
        session.restore([(turn.role, turn.text) for turn in earlier])
        if not session.settings.generation.drafting:
            self._drafting_wanted = False
        self._emit(ModelReady(describe_model(loaded, session)))
        for notice in (loaded.notice, session.template.notice):
            if notice:
                self._emit(Notice(notice))
        if self._keeping.resume(session):
            self._emit(ContextFilled(session.context_tokens))
            self._tell_left_out(session)
        while not isinstance(command := self._next_command(session), _Close):
            match command:
                case _Send(text):
                    message = self._attachments.before(text)
                    self._attachments.clear()
                    self._answer(session, message)
                    self._save_now_and_then(loaded)
                    self._busy.clear()
                case _Attach(path):
                    self._attachments.add(path, session, loaded, self._closing)
                    # Reading it ahead can begin now.
                    self._commands.put(_Draft())
                case _Detach():
                    self._attachments.clear()
                case _NewChat():
                    self._begin_anew(session)
        self._keeping.leave(session)

    def _begin_anew(self, session: ChatSession) -> None:
        self._keeping.leave(session)
        session.reset()
        self._attachments.clear()
        self._left_out = 0
        self._keeping.new_chat()

    # Between two answers

    def _next_command(self, session: ChatSession) -> _Action:
        """Waits for a command that is no draft; drafts are read ahead when typing pauses."""
        command = self._commands.get()
        while isinstance(command, _Draft):
            try:
                command = self._commands.get(timeout=_TYPING_PAUSE_SECONDS)
            except queue.Empty:
                self._read_ahead(session)
                command = self._commands.get()
        return command

    def _read_ahead(self, session: ChatSession) -> None:
        """Reads what is typed, until anything else comes."""
        from sssd_chat.conversation.read_ahead import on_battery

        settings = session.settings
        if not settings.read_ahead or (not settings.read_ahead_on_battery and on_battery()):
            return
        try:
            message = self._attachments.before(self._draft)
            session.read_ahead(message, self._commands.empty)
        except Exception:
            # The question itself will be read, or say what is wrong.
            log.exception("reading ahead failed")
        self._emit(ContextFilled(session.context_tokens))

    def _tell_left_out(self, session: ChatSession) -> None:
        if session.turns_left_out != self._left_out:
            self._left_out = session.turns_left_out
            self._emit(TurnsLeftOut(self._left_out))

    # An answer

    def _save_now_and_then(self, loaded: LoadedEngine) -> None:
        """What was learned is kept at the end; a crash may cost a few minutes of it."""
        if time.monotonic() >= self._next_save:
            loaded.save()
            self._next_save = time.monotonic() + _SAVE_SECONDS

    def _answer(self, session: ChatSession, question: str) -> None:
        """Answers one question; whatever happens, exactly one AnswerDone or AnswerFailed comes."""
        if self._cancelled.is_set():
            self._emit(AnswerDone("", StoppedBy.CANCELLED, AnswerStatistics()))
            return
        self._keeping.question(session, question)
        generation = None
        self._reused = None
        try:
            generation = session.begin(question, self._on_read(session))
            self._write(session, generation)
            session.finish(question, generation)
        except UserError as error:
            self._fail(str(error), session, generation)
            return
        except Exception:
            log.exception("the answer failed")
            self._fail(_inside_problem(), session, generation)
            return
        stopped_by = generation.stopped_by or StoppedBy.CANCELLED
        status = "stopped" if stopped_by is StoppedBy.CANCELLED else "done"
        kept = self._keeping.answer(session, generation, status)
        answer = session.answer(generation)
        statistics = generation.statistics.copy()
        self._emit(AnswerDone(answer.text, stopped_by, statistics, answer.thinking))
        self._keeping.learn(generation, kept)

    def _fail(
        self, message: str, session: ChatSession, generation: Generation[State] | None
    ) -> None:
        if generation is None:
            self._emit(AnswerFailed(message))
            return
        self._keeping.answer(session, generation, "failed")
        answer = session.answer(generation)
        self._emit(AnswerFailed(message, answer.text, answer.thinking))

    def _on_read(self, session: ChatSession) -> Callable[[int, int], bool]:
        def report(done: int, total: int) -> bool:
            if self._reused is None:
                # The first report of a prompt tells what was there already.
                self._reused = done
                self._tell_left_out(session)
            self._emit(PromptRead(done, total, self._reused))
            return not self._cancelled.is_set()

        return report

    def _write(self, session: ChatSession, generation: Generation[State]) -> None:
        checkpoint = time.monotonic() + _CHECKPOINT_SECONDS
        for step in session.steps(generation):
            text, thinking = step.text, step.thinking
            if self._cancelled.is_set():
                rest = session.cancel(generation)
                text, thinking = text + rest.text, thinking + rest.thinking
            statistics = generation.statistics.copy()
            self._emit(AnswerStep(text, step.statistics, statistics, thinking))
            self._follow_switch(generation)
            if time.monotonic() >= checkpoint:
                self._keeping.answer(session, generation, "streaming")
                checkpoint = time.monotonic() + _CHECKPOINT_SECONDS

    def _follow_switch(self, generation: Generation[State]) -> None:
        if generation.settings.drafting != self._drafting_wanted:
            generation.settings = replace(generation.settings, drafting=self._drafting_wanted)


def _inside_problem() -> str:
    return f"Something went wrong inside the program; {paths.log_file()} has the details."
