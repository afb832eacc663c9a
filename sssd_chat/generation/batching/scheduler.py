"""Continuous batching: requests join and leave between the steps of one batch.

A step is one decode. It holds the root and the draft of every sequence that writes and the next
part of every prompt that is read, so a long prompt makes the others slower but never stops them.
All of it is used from one thread.
"""

from __future__ import annotations

import itertools
import time
from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

from sssd_chat.drafting import Drafter
from sssd_chat.errors import UserError
from sssd_chat.generation.answer import Answer, Step
from sssd_chat.generation.batching.composing import Batch, Composer, LiveSequence
from sssd_chat.generation.batching.following import Following
from sssd_chat.generation.batching.request import Phase, Progress, Request, Ticket
from sssd_chat.generation.batching.slots import Slots
from sssd_chat.generation.engine import Engine
from sssd_chat.generation.looks import LogprobSampler, TokenSampler
from sssd_chat.generation.statistics import AnswerStatistics, StoppedBy
from sssd_chat.generation.stop import StopStrings
from sssd_chat.generation.target import State
from sssd_chat.llama.target import CacheFull, DecodeError

_HEADROOM = 16
"""Cells that must be left for each sequence when another one joins: one that joins only to be
thrown out again has read its prompt in vain."""


@dataclass(frozen=True, slots=True)
class Figures:
    """How the scheduler is doing. Counts of tokens and requests are since it was made."""

    queued: int
    reading: int
    writing: int
    slots: int
    """Sequences that can be alive at once."""
    cells: int
    """Tokens that the context holds."""
    cells_used: int
    """Those of live sequences."""
    cells_kept: int
    """Those of finished ones, kept for prompts that begin alike and given up when needed."""
    preemptions: int
    finished: int
    """Requests that came to an end, cancelled and failed ones included."""
    failed: int
    steps: int
    read: int
    """Tokens of prompts that were decoded."""
    reused: int
    """Tokens of prompts that were in the cache already."""
    emitted: int
    drafted: int
    accepted: int


@dataclass(slots=True)
class _Counts:
    preemptions: int = 0
    finished: int = 0
    failed: int = 0
    steps: int = 0
    read: int = 0
    reused: int = 0
    emitted: int = 0
    drafted: int = 0
    accepted: int = 0


class Scheduler(Generic[State]):
    """Writes the answers to many requests with one engine, which nobody else may use meanwhile."""

    def __init__(
        self,
        engine: Engine[State],
        new_drafter: Callable[[], Drafter],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`clock` tells the time, in seconds; decodes are timed by the target."""
        self._clock = clock
        self._target = engine.target
        self._writer = engine.writer
        self._slots: Slots[State] = Slots(engine.target, new_drafter)
        self._following: Following[State] = Following(self._slots, engine.target.least_shared)
        self._composer: Composer[State] = Composer(engine, clock)
        self._numbers = itertools.count()
        self._queue: list[Ticket] = []
        """In the order of arrival."""
        self._live: list[LiveSequence[State]] = []
        self._reports: list[Progress] = []
        """For the next step to return."""
        self._counts = _Counts()

    # Requests

    def prepare(self, request: Request) -> Ticket:
        """Checks a request and makes its sampler; `enqueue` then starts it. May be called from any
        thread. Raises PromptTooLong, or UserError for an empty prompt or a broken grammar."""
        self._writer.check(request.prompt)
        sampler: TokenSampler = self._writer.sampler(request.settings)
        if request.logprobs is not None:
            sampler = LogprobSampler(sampler, request.logprobs)
        answer = Answer(
            request.settings,
            sampler,
            AnswerStatistics(prompt_tokens=len(request.prompt)),
            list(request.prompt),
            stops=StopStrings(request.settings.stop),
        )
        return Ticket(next(self._numbers), request, answer)

    def enqueue(self, ticket: Ticket) -> None:
        """Puts a prepared request at the end of the queue."""
        limit = ticket.request.settings.max_tokens
        if limit is not None and limit < 1:
            ticket.answer.finish(StoppedBy.LENGTH)
            self._reports.append(self._ended(ticket))
        else:
            insort(self._queue, ticket, key=_number)

    def add(self, request: Request) -> Ticket:
        """Puts a request at the end of the queue. Raises what `prepare` raises."""
        ticket = self.prepare(request)
        self.enqueue(ticket)
        return ticket

    def cancel(self, ticket: Ticket) -> None:
        """Ends an answer where it is, unless it has ended; the next step reports it."""
        if ticket.phase is Phase.FINISHED:
            return
        if ticket in self._queue:
            self._queue.remove(ticket)
        for sequence in self._live:
            if sequence.ticket is ticket:
                self._release(sequence)
                break
        text = ticket.answer.cancel()
        self._reports.append(self._ended(ticket, text=text))

    @property
    def is_idle(self) -> bool:
        """Whether a step would do nothing."""
        return not (self._queue or self._live or self._reports)

    def figures(self) -> Figures:
        """How it is doing."""
        reading = sum(sequence.unread > 0 for sequence in self._live)
        counts = self._counts
        return Figures(
            queued=len(self._queue),
            reading=reading,
            writing=len(self._live) - reading,
            slots=self._target.max_sequences,
            cells=self._target.cells,
            cells_used=self._used(),
            cells_kept=self._slots.kept_cells,
            preemptions=counts.preemptions,
            finished=counts.finished,
            failed=counts.failed,
            steps=counts.steps,
            read=counts.read,
            reused=counts.reused,
            emitted=counts.emitted,
            drafted=counts.drafted,
            accepted=counts.accepted,
        )

    def close(self) -> None:
        """Cancels everything, without reports, and takes every text out of the cache."""
        for ticket in [*self._queue, *(sequence.ticket for sequence in self._live)]:
            self.cancel(ticket)
        self._reports.clear()
        self._slots.close()

    # A step

    def step(self) -> list[Progress]:
        """One decode for all live sequences: what each of them emitted or read, and what ended
        since the last step. A sequence that emitted and read nothing is not listed: one that goes
        on after it lost its place, or that waits for another one to read what both begin with."""
        reports, self._reports = self._reports, []
        self._admit()
        self._catch_up()
        self._preempt_for_cells()
        if not self._live:
            return reports
        batch = self._composer.compose(self._live, self._free_cells())
        self._make_room(batch.size)
        try:
            seconds = self._target.verify(batch.items, batch.padding, batch.reads)
        except CacheFull as error:
            # The count of cells is exact for every cache known; should it not be, fewer fit.
            if kept := self._slots.kept_cells:
                self._slots.shrink(kept)
            elif len(self._live) > 1:
                self._preempt(self._live[-1])
            else:
                reports += self.fail_live(str(error))
            return reports
        except DecodeError as error:
            return reports + self.fail_live(str(error))
        self._counts.steps += 1
        self._composer.learn(batch, seconds)
        return reports + self._written(batch, seconds) + self._read(batch)

    def _written(self, batch: Batch[State], seconds: float) -> list[Progress]:
        reports = []
        for sequence, tree, statistics in self._composer.shares(batch, seconds):
            answer, plain = sequence.ticket.answer, batch.plain_share
            self._counts.drafted += len(tree)
            try:
                step = self._writer.take(sequence.conversation, answer, tree, statistics, plain)
            except UserError as error:
                reports.append(self._fail(sequence, str(error)))
            else:
                self._counts.accepted += statistics.accepted
                reports.append(self._emitted(sequence, step))
        return reports

    def _read(self, batch: Batch[State]) -> list[Progress]:
        reports = []
        for sequence, part in zip(batch.reading, batch.parts, strict=True):
            self._counts.read += len(part)
            if sequence.unread:
                reports.append(Progress(sequence.ticket, read=sequence.read_of_prompt))
            else:
                reports += self._begin_writing(sequence)
        return reports

    def _begin_writing(self, sequence: LiveSequence[State]) -> list[Progress]:
        """Its whole text is in the cache. The first token comes from the logits of the decode that
        read its end; an answer that goes on has its next root already."""
        ticket, answer = sequence.ticket, sequence.ticket.answer
        ticket.phase = Phase.WRITING
        self._writer.read_drafter(sequence.conversation, answer)
        answer.statistics.prefill_seconds += self._clock() - sequence.started
        if answer.tokens:
            return []
        try:
            step = self._writer.first_step(sequence.conversation, answer)
        except UserError as error:
            return [self._fail(sequence, str(error))]
        ticket.times.first_token = self._clock()
        return [self._emitted(sequence, step)]

    def _emitted(self, sequence: LiveSequence[State], step: Step) -> Progress:
        ticket, answer = sequence.ticket, sequence.ticket.answer
        self._counts.emitted += len(step.tokens)
        sampler = answer.sampler
        progress = Progress(
            ticket,
            tuple(step.tokens),
            step.text,
            sampler.take() if isinstance(sampler, LogprobSampler) else (),
            read=len(answer.prompt),
        )
        if not answer.is_finished:
            return progress
        self._release(sequence)
        return self._ended(ticket, progress.text, progress)

    # Who is in the batch

    def _used(self) -> int:
        return sum(len(sequence.conversation.state.tokens) for sequence in self._live)

    def _free_cells(self) -> int:
        """Cells that no live sequence holds."""
        return self._target.cells - self._used()

    def _admit(self) -> None:
        """Lets requests in, in their order, as long as there are places and cells."""
        while self._queue and not self._slots.is_full:
            ticket = self._queue[0]
            answer = ticket.answer
            # The root of an answer that goes on is not in the cache.
            text = [*answer.prompt, *answer.tokens[:-1]]
            promised = sum(len(sequence.text) + sequence.written for sequence in self._live)
            headroom = _HEADROOM * (len(self._live) + 1) if self._live else 1
            if promised + len(text) + headroom > self._target.cells and self._live:
                return
            del self._queue[0]
            self._start(ticket, text)

    def _start(self, ticket: Ticket, text: list[int]) -> None:
        # The last token of a new prompt is always read: its logits are wanted.
        most_shared = len(text) if ticket.answer.tokens else len(text) - 1
        conversation = self._slots.take(text, most_shared)
        sequence = LiveSequence(ticket, conversation, text, most_shared, self._clock())
        insort(self._live, sequence, key=lambda each: each.ticket.number)
        if ticket.times.admitted is None:
            ticket.times.admitted = self._clock()
        self._reused(ticket, len(conversation.state.tokens))
        ticket.phase = Phase.READING
        if sequence.unread:
            self._following.begin(sequence, self._live)
        else:
            self._begin_writing(sequence)

    def _reused(self, ticket: Ticket, tokens: int) -> None:
        """Notes what a prompt need not read. What is found again of one that lost its place was
        read for it."""
        if not ticket.preemptions:
            ticket.answer.statistics.reused_tokens += tokens
            self._counts.reused += tokens

    def _catch_up(self) -> None:
        for sequence, got in self._following.catch_up(self._live):
            self._reused(sequence.ticket, got)
            if not sequence.unread:
                self._begin_writing(sequence)

    def _preempt_for_cells(self) -> None:
        """The youngest give way until each of the others can go on by a token at least."""
        while len(self._live) > 1 and self._free_cells() < len(self._live):
            self._preempt(self._live[-1])

    def _preempt(self, sequence: LiveSequence[State]) -> None:
        """Back into the queue. Tokens, sampler and text stay with the ticket: when it is let in
        again, prompt and answer are read and it goes on as if nothing had been."""
        self._counts.preemptions += 1
        ticket = sequence.ticket
        ticket.preemptions += 1
        ticket.phase = Phase.QUEUED
        self._release(sequence)
        insort(self._queue, ticket, key=_number)

    def _make_room(self, size: int) -> None:
        """Gives up kept texts that a batch of `size` tokens needs the cells of."""
        missing = self._used() + self._slots.kept_cells + size - self._target.cells
        if missing > 0:
            self._slots.shrink(missing)

    def _release(self, sequence: LiveSequence[State]) -> None:
        self._live.remove(sequence)
        self._slots.give_back(sequence.conversation)

    # Ends

    def _ended(
        self, ticket: Ticket, text: str = "", last: Progress | None = None, error: str | None = None
    ) -> Progress:
        """The last progress of a request."""
        ticket.phase = Phase.FINISHED
        ticket.times.finished = self._clock()
        self._counts.finished += 1
        answer = ticket.answer
        return Progress(
            ticket,
            last.tokens if last else (),
            text,
            last.logprobs if last else (),
            last.read if last else 0,
            None if error else answer.stopped_by,
            error,
            answer.statistics.copy(),
            ticket.times,
        )

    def fail_live(self, error: str) -> list[Progress]:
        """Ends every live sequence with an error: what is in the cache is not to be trusted."""
        return [self._fail(sequence, error) for sequence in list(self._live)]

    def _fail(self, sequence: LiveSequence[State], error: str) -> Progress:
        self._counts.failed += 1
        self._live.remove(sequence)
        self._slots.discard(sequence.conversation)
        text = sequence.ticket.answer.cancel()
        return self._ended(sequence.ticket, text, error=error)


def _number(ticket: Ticket) -> int:
    return ticket.number
