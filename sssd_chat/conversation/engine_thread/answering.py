"""One answer: the question is kept, the model writes, the answer is kept."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sssd_chat.conversation.attachments import split_attachments, with_attachments
from sssd_chat.conversation.engine_thread.commands import (
    Asking,
    AskInstead,
    ContinueAnswer,
    Regenerate,
    Send,
)
from sssd_chat.conversation.engine_thread.open_chat import ScreenChat, WrittenAnswer
from sssd_chat.conversation.engine_thread.outbox import inside_problem
from sssd_chat.conversation.events import (
    AnswerDone,
    AnswerFailed,
    AnswerStep,
    Event,
    LifetimeChanged,
    Notice,
    PromptRead,
    QuestionKept,
    StoppedBy,
)
from sssd_chat.conversation.history.origins import StoredSpan
from sssd_chat.conversation.history.particulars import parameters_of, statistics_of
from sssd_chat.conversation.lifetime import LifetimeSums
from sssd_chat.conversation.naming import shown_spans
from sssd_chat.conversation.parameters import parameters_in_use
from sssd_chat.conversation.shown import AnswerParameters
from sssd_chat.conversation.tree import Turn
from sssd_chat.errors import UserError
from sssd_chat.generation.statistics import AnswerStatistics

if TYPE_CHECKING:
    from sssd_chat.conversation.engine_thread.running import Running
    from sssd_chat.generation.engine import Generation
    from sssd_chat.generation.loading import State

_CHECKPOINT_SECONDS = 1.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Task:
    """What is to be written."""

    question: Turn
    answer: Turn | None = None
    """The answer that goes on; None for a new one."""
    parameters: tuple[AnswerParameters, ...] = ()
    """For this answer alone."""
    back_to: int | None = None
    """Where the chat goes on if not a token is written."""


class Answering:
    """For the engine thread."""

    def __init__(
        self,
        chat: ScreenChat,
        emit: Callable[[Event], None],
        lifetime: LifetimeSums,
        drafting: Callable[[], bool],
    ) -> None:
        """`drafting` says whether drafts are wanted now."""
        self._chat = chat
        self._emit = emit
        self._lifetime = lifetime
        self._drafting = drafting
        self._learning_problem = ""

    def run(self, running: Running, command: Asking, message: str) -> None:
        """Does what the command asks for; whatever happens, exactly one AnswerDone or AnswerFailed
        comes. `message` is the question of a Send, with the documents that go along."""
        problem = ""
        try:
            task = self._task(running, command, message)
            if task is not None:
                _Answer(self, running, task, command).run()
        except UserError as error:
            problem = str(error)
        except Exception:
            log.exception("the answer failed")
            problem = inside_problem()
        if command.finished.is_set():
            return
        command.finished.set()
        stopped = AnswerDone("", StoppedBy.CANCELLED, AnswerStatistics())
        self._emit(AnswerFailed(problem) if problem else stopped)

    # What is asked for

    def _task(self, running: Running, command: Asking, message: str) -> _Task | None:
        """None when it was stopped before it began. Raises UserError."""
        chat = self._chat
        match command:
            case Send():
                if command.stop.is_set():
                    return None
                return _Task(self._ask(running, chat.tree.leaf, message))
            case AskInstead(turn, text):
                old = chat.find(turn, "user")
                if command.stop.is_set():
                    return None
                _refuse_nothing(text)
                if not split_attachments(text)[0]:
                    # The documents of the question go along with what is asked in its place.
                    text = with_attachments(text, split_attachments(old.written)[0])
                chat.go_to(old.parent)
                chat.show()
                return _Task(self._ask(running, old.parent, text))
            case Regenerate(turn, parameters):
                question = chat.tree.question_of(chat.find(turn).id)
                if question is None:
                    raise UserError("There is no question to this answer.")
                if command.stop.is_set():
                    return None
                back_to = chat.tree.leaf
                chat.go_to(question.id)
                chat.show()
                wanted = () if parameters is None else (parameters,)
                return _Task(question, parameters=wanted, back_to=back_to)
            case ContinueAnswer(turn):
                return None if command.stop.is_set() else self._continued(turn)
            case _:
                raise AssertionError(f"{command} asks for no answer")

    def _ask(self, running: Running, parent: int | None, text: str) -> Turn:
        _refuse_nothing(text)
        name = running.session.model_name
        question = self._chat.ask(parent, text, name, running.fingerprint)
        self._emit(QuestionKept(question.id, *self._chat.place_of(question.id)))
        return question

    def _continued(self, turn: int) -> _Task:
        answer = self._chat.find(turn, "assistant")
        question = None if answer.parent is None else self._chat.tree[answer.parent]
        if turn != self._chat.tree.leaf or question is None or question.role != "user":
            raise UserError("Only the last answer of a chat can be gone on with.")
        return _Task(question, answer)

    # What becomes of it

    @property
    def chat(self) -> ScreenChat:
        """The chat that is answered in."""
        return self._chat

    @property
    def emit(self) -> Callable[[Event], None]:
        """Tells the screen."""
        return self._emit

    @property
    def drafts_wanted(self) -> bool:
        """Whether drafts are wanted now."""
        return self._drafting()

    def count(self, answer: Turn, before: AnswerStatistics | None) -> None:
        """Adds an answer to the sums over all of them."""
        if answer.statistics is not None:
            self._lifetime.add(answer.statistics, answer.created, before)
            self._emit(LifetimeChanged(self._lifetime.lifetime()))

    def learn(self, running: Running, answer: Turn, tokens: list[int], *, again: bool) -> None:
        """Lets a kept answer join the datastore; `again` when the beginning of it is there."""
        learner, number = running.learner, self._chat.number
        if learner is None or number is None or answer.id < 0:
            return
        if again:
            learner.relearn(number, answer.id, tokens)
        else:
            learner.learn(number, answer.id, tokens)
        if learner.problem and learner.problem != self._learning_problem:
            self._learning_problem = learner.problem
            self._emit(Notice(learner.problem, "warning"))


def _refuse_nothing(question: str) -> None:
    if not question.strip():
        raise UserError("The question is empty.")


class _Answer:
    """One answer that is being written."""

    def __init__(
        self, answering: Answering, running: Running, task: _Task, command: Asking
    ) -> None:
        self._answering = answering
        self._running = running
        self._session = running.session
        self._task = task
        self._command = command
        self._reused: int | None = None
        self._before = None if task.answer is None else task.answer.statistics
        self._spans = () if task.answer is None else task.answer.spans
        self._last_batch: int | None = None

    def run(self) -> None:
        """Writes it to its end, and tells the screen."""
        chat, question, answer = self._answering.chat, self._task.question, self._task.answer
        generation: Generation[State] | None = None
        problem = ""
        try:
            self._running.prepare(
                chat,
                self._answering.drafts_wanted,
                *self._task.parameters,
                before=question.id,
            )
            name, vocabulary = self._session.model_name, self._running.fingerprint
            chat.begin_answer(question.id, answer, name, vocabulary)
            written = "" if answer is None else answer.written
            generation = self._session.begin(question.written, self._on_read, written=written)
            self._write(generation)
            self._session.finish(question.written, generation)
        except UserError as error:
            problem = str(error)
        except Exception:
            log.exception("the answer failed")
            problem = inside_problem()
        if generation is None or not self._session.tokens(generation):
            self._end_without_a_token(generation, problem)
        else:
            self._end(generation, problem)

    def _on_read(self, done: int, total: int) -> bool:
        if self._reused is None:
            # The first report of a prompt tells what was there already.
            self._reused = done
            self._running.tell_left_out()
        self._answering.emit(PromptRead(done, total, self._reused))
        return not self._command.stop.is_set()

    def _write(self, generation: Generation[State]) -> None:
        checkpoint = time.monotonic() + _CHECKPOINT_SECONDS
        for step in self._session.steps(generation):
            text, thinking = step.text, step.thinking
            if self._command.stop.is_set():
                rest = self._session.cancel(generation)
                text, thinking = text + rest.text, thinking + rest.thinking
            sums, spans = self._sums(generation), shown_spans(step.spans)
            self._answering.emit(AnswerStep(text, step.statistics, sums, thinking, spans))
            self._last_batch = step.statistics.draft_size + 1
            self._running.tell_curve(self._last_batch)
            wanted = self._answering.drafts_wanted
            if generation.settings.drafting != wanted:
                generation.settings = replace(generation.settings, drafting=wanted)
            if time.monotonic() >= checkpoint:
                now = self._now(generation, "streaming", self._spans)
                self._answering.chat.checkpoint(self._task.question.id, self._task.answer, now)
                checkpoint = time.monotonic() + _CHECKPOINT_SECONDS

    def _sums(self, generation: Generation[State]) -> AnswerStatistics:
        if self._before is None:
            return generation.statistics.copy()
        return self._before.followed_by(generation.statistics)

    def _now(
        self, generation: Generation[State], status: str, spans: tuple[StoredSpan, ...]
    ) -> WrittenAnswer:
        reason = generation.stopped_by.value if generation.stopped_by else None
        sums = self._sums(generation)
        return WrittenAnswer(
            self._session.written(generation),
            self._session.tokens(generation),
            status,
            parameters_of(generation.settings, self._session.settings.thinking),
            sums,
            statistics_of(sums, reason),
            spans,
        )

    # The end

    def _end_without_a_token(self, generation: Generation[State] | None, problem: str) -> None:
        emit, chat, back_to = self._answering.emit, self._answering.chat, self._task.back_to
        self._command.finished.set()
        if problem:
            emit(AnswerFailed(problem))
        else:
            assert generation is not None
            stopped_by = generation.stopped_by or StoppedBy.CANCELLED
            emit(AnswerDone("", stopped_by, generation.statistics.copy()))
        if back_to is not None:
            # There is no other answer: the one that was there is still the answer.
            chat.go_to(back_to)
            chat.show()

    def _end(self, generation: Generation[State], problem: str) -> None:
        answering, chat, running = self._answering, self._answering.chat, self._running
        stopped_by = generation.stopped_by or StoppedBy.CANCELLED
        status = "stopped" if stopped_by is StoppedBy.CANCELLED else "done"
        status = "failed" if problem else status
        spans = (*self._spans, *self._session.spans(generation))
        now = self._now(generation, status, spans)
        name = self._session.model_name
        answer = chat.finish_answer(self._task.question.id, self._task.answer, now, name)
        place, named = chat.place_of(answer.id), chat.names.named(spans)
        parts = self._session.answer(generation)
        if problem:
            emit_at_end: Event = AnswerFailed(
                problem, parts.text, parts.thinking, answer.id, *place, named
            )
        else:
            used = parameters_in_use(self._session.settings)
            emit_at_end = AnswerDone(
                parts.text,
                stopped_by,
                now.statistics,
                parts.thinking,
                answer.id,
                *place,
                named,
                used,
            )
        self._command.finished.set()
        answering.emit(emit_at_end)
        if running.learner is not None:
            running.learner.count(generation.statistics)
        answering.count(answer, self._before)
        running.tell_curve(self._last_batch, now=True)
        if not problem:
            again = self._task.answer is not None
            answering.learn(running, answer, now.tokens, again=again)
