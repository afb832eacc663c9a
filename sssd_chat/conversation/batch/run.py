"""Answering the lines of a file, many at once."""

from __future__ import annotations

import functools
import queue
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from sssd_chat.conversation.batch.lines import (
    Line,
    LineRequest,
    custom_id_of,
    read_request,
)
from sssd_chat.conversation.batch.output import AnswerFile
from sssd_chat.conversation.completions.choice import Choice, choices_for
from sssd_chat.conversation.completions.prompting import PromptMaker
from sssd_chat.conversation.completions.refusal import RequestRefused, failed_writing
from sssd_chat.conversation.completions.replies import Json, Reply
from sssd_chat.conversation.completions.request import ChatRequest, Defaults
from sssd_chat.errors import UserError
from sssd_chat.generation.batching import EngineService, Handle, Progress, Request

_LOOK_SECONDS = 0.2
"""How often is looked whether to stop, while nothing comes."""


@dataclass(slots=True)
class Tally:
    """What has been done so far in this run."""

    answered: int = 0
    """Lines with an answer."""
    failed: int = 0
    """Lines with an error instead."""
    tokens: int = 0
    """Of the answers, those that are being written included."""
    finished_tokens: int = 0
    """Of the finished answers alone."""
    steps: int = 0
    """Of the finished answers."""
    started: float = field(default_factory=time.monotonic)

    @property
    def lines(self) -> int:
        """Lines that are done."""
        return self.answered + self.failed

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self.started

    @property
    def tokens_per_step(self) -> float | None:
        """τ of the finished answers; None before the first."""
        return self.finished_tokens / self.steps if self.steps else None


@dataclass(slots=True)
class _Running:
    """A line that is being answered."""

    line: Line
    request: LineRequest
    reply: Reply
    choices: list[Choice]
    handles: list[Handle] = field(default_factory=list)


class BatchRun:
    """Answers lines and writes each answer to the file when it is finished."""

    def __init__(
        self,
        service: EngineService,
        prompts: PromptMaker,
        defaults: Defaults,
        model: str,
        out: AnswerFile,
        on_answer: Callable[[Choice], None],
    ) -> None:
        """`model` is how the model is called in the answers; `on_answer` is told each answer."""
        self.tally = Tally()
        self._service = service
        self._prompts = prompts
        self._defaults = defaults
        self._model = model
        self._out = out
        self._on_answer = on_answer
        self._news: queue.SimpleQueue[tuple[_Running, int, Progress]] = queue.SimpleQueue()
        self._running: list[_Running] = []

    def run(
        self, lines: Iterable[Line], at_once: int, is_stopped: Callable[[], bool]
    ) -> Iterator[Tally]:
        """Answers the lines that the file has no answer to, with `at_once` of them in the engine or
        its queue, and yields whenever something came. Stopped, it gives up the answers that are
        being written. Raises UserError when the answers cannot be written, and when the engine has
        failed."""
        todo = (line for line in lines if line.id not in self._out.done)
        try:
            while not is_stopped():
                self._fill(todo, at_once)
                if not self._running:
                    return
                self._take()
                yield self.tally
        finally:
            for running in self._running:
                for handle in running.handles:
                    handle.cancel()

    def _fill(self, todo: Iterator[Line], at_once: int) -> None:
        while len(self._running) < at_once:
            line = next(todo, None)
            if line is None:
                return
            self._begin(line)

    def _begin(self, line: Line) -> None:
        try:
            request = read_request(line, self._defaults)
            prompts = self._prompts.prompts(request.asked)
            reply = Reply.to(request.asked, self._model, self._prompts.piece_of)
            choices = choices_for(prompts, isinstance(request.asked, ChatRequest))
            running = _Running(line, request, reply, choices)
            self._submit(running)
        except RequestRefused as refused:
            self._write_refusal(line, refused)
        else:
            self._running.append(running)

    def _submit(self, running: _Running) -> None:
        logprobs = running.request.asked.wanted.logprobs
        for choice in running.choices:
            request = Request(choice.prompt.tokens, choice.prompt.settings, logprobs)
            sink = functools.partial(self._on_progress, running, choice.index)
            try:
                running.handles.append(self._service.submit(request, sink))
            except UserError as error:
                self._check_engine()
                # What was not checked before is the grammar, the same for all choices.
                raise RequestRefused(str(error), param="grammar", code="invalid_value") from error

    def _check_engine(self) -> None:
        """What an engine that fails leaves unanswered is no fault of the lines, which can be
        answered another time."""
        if not self._service.is_open:
            raise UserError("The engine has failed; the log has the details.")

    def _on_progress(self, running: _Running, index: int, progress: Progress) -> None:
        # In the engine thread, which is not held up.
        self._news.put((running, index, progress))

    def _take(self) -> None:
        """Takes what came, waiting for it a little."""
        try:
            news = self._news.get(timeout=_LOOK_SECONDS)
            while True:
                self._note(*news)
                news = self._news.get_nowait()
        except queue.Empty:
            pass

    def _note(self, running: _Running, index: int, progress: Progress) -> None:
        running.choices[index].add(progress)
        self.tally.tokens += len(progress.tokens)
        if all(choice.is_finished for choice in running.choices):
            self._running.remove(running)
            self._finish(running)

    def _finish(self, running: _Running) -> None:
        for choice in running.choices:
            if choice.error is not None:
                self._check_engine()
                self._write_refusal(running.line, failed_writing(choice.error))
                return
        if not all(choice.is_complete for choice in running.choices):
            return
        self._write_answer(running)
        for choice in running.choices:
            self.tally.finished_tokens += choice.statistics.emitted
            self.tally.steps += choice.statistics.steps
            self._on_answer(choice)

    # Lines of the file

    def _write_answer(self, running: _Running) -> None:
        reply, request = running.reply, running.request
        whole = reply.whole(running.choices)
        if request.is_plain:
            self._out.add(running.line.id, _plain(request, running.choices, whole))
        else:
            response: Json = {"status_code": 200, "request_id": reply.id, "body": whole}
            self._out.add(running.line.id, _in_openai_form(request.custom_id, response))
        self.tally.answered += 1

    def _write_refusal(self, line: Line, refused: RequestRefused) -> None:
        custom_id, is_plain = custom_id_of(line)
        if is_plain:
            named: Json = {} if custom_id is None else {"custom_id": custom_id}
            self._out.add(line.id, {**named, **refused.as_json()})
        else:
            response: Json = {
                "status_code": refused.status,
                "request_id": f"req-{uuid.uuid4().hex}",
                "body": refused.as_json(),
            }
            self._out.add(line.id, _in_openai_form(custom_id, response))
        self.tally.failed += 1


def _in_openai_form(custom_id: str | None, response: Json) -> Json:
    return {
        "id": f"batch_req_{uuid.uuid4().hex}",
        "custom_id": custom_id,
        "response": response,
        "error": None,
    }


def _plain(request: LineRequest, choices: list[Choice], whole: Json) -> Json:
    """The short form: the text of the answer, of all of them where several were wanted."""
    named: Json = {} if request.custom_id is None else {"custom_id": request.custom_id}
    first = choices[0].whole
    answer: Json = {"text": first.text, "finish_reason": first.finish_reason}
    if first.thinking:
        answer["thinking"] = first.thinking
    if len(choices) > 1:
        answer["choices"] = whole["choices"]
    return {**named, **answer, "usage": whole["usage"]}
