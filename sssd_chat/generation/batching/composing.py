"""What goes into the batch of a step: whose drafts, and how much of whose prompt."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic

from sssd_chat.drafting import DraftTree
from sssd_chat.generation.answer import Conversation
from sssd_chat.generation.batching.looking import Looking
from sssd_chat.generation.batching.prices import Prices
from sssd_chat.generation.batching.request import Ticket
from sssd_chat.generation.engine import Engine
from sssd_chat.generation.plan import Limits, plan_drafts
from sssd_chat.generation.statistics import StepStatistics
from sssd_chat.generation.target import State

_SLOWER = 2.5
"""A step that reads besides may take so many times as long as one that only writes."""
_ALONE_SECONDS = 0.4
"""Length of a step while nobody writes: as long may a new request have to wait."""
_LEAST_PART = 8
"""Tokens of prompts that are read in a step, whatever they cost."""
_FIRST_PART = 64
"""The same, while the cost of reading is not known and nobody writes."""
_TURN = 512
"""Where prompts are read one at a time: tokens after which it is another one's turn."""
_ticks = itertools.count()


@dataclass(slots=True, eq=False)
class LiveSequence(Generic[State]):
    """A request that has its place in the cache."""

    ticket: Ticket
    conversation: Conversation[State]
    text: list[int]
    """What must be in the cache before it can write."""
    most_shared: int
    """Tokens of the text that may come from another one."""
    started: float
    """When reading it began, by the scheduler's clock."""
    leader: LiveSequence[State] | None = None
    """Another one that reads what this one's text begins with, too, and is waited for."""
    led: int = 0
    """Tokens that the two texts have in common."""
    waits_since: int = field(default_factory=_ticks.__next__)
    """Where prompts are read one at a time: when it came, or its last turn ended; smaller is
    earlier."""
    turn: int = 0
    """Tokens that were read in its present turn; 0 while it is not its turn."""
    order: int = field(default_factory=itertools.count().__next__)
    """Greater than those of all that had a place before."""

    @property
    def unread(self) -> int:
        """Tokens of the text that are not in the cache yet."""
        return max(0, len(self.text) - len(self.conversation.state.tokens))

    @property
    def written(self) -> int:
        """Tokens in the cache that came after the text."""
        return max(0, len(self.conversation.state.tokens) - len(self.text))

    @property
    def read_of_prompt(self) -> int:
        """Tokens of the prompt that are in the cache."""
        return min(len(self.conversation.state.tokens), len(self.ticket.answer.prompt))


@dataclass(slots=True)
class Look:
    """Time that one sequence spent on its draft."""

    nodes: int | None = None
    """Nodes of the draft before it was cut to what pays; None where nothing was looked for."""
    seconds: float = 0.0


@dataclass(slots=True)
class Batch(Generic[State]):
    """One decode."""

    writing: list[LiveSequence[State]]
    drafts: list[DraftTree]
    reading: list[LiveSequence[State]]
    parts: list[list[int]]
    """The next tokens of each text that is read."""
    padding: int
    context: int
    """Tokens of the live sequences in the cache."""
    looks: list[Look]
    """What each of `writing` spent on its draft."""
    decode_seconds: float | None
    """What the batch would be expected to take without its reads; None while unknown."""
    plain_share: float | None
    """What each sequence's part of a step without drafts takes; None while unknown."""

    @property
    def items(self) -> list[tuple[State, int, DraftTree]]:
        """What is verified."""
        return [
            (sequence.conversation.state, sequence.ticket.answer.root, tree)
            for sequence, tree in zip(self.writing, self.drafts, strict=True)
        ]

    @property
    def reads(self) -> list[tuple[State, list[int], bool]]:
        """What is read. Logits are wanted at the end of a prompt, to begin its answer with."""
        return [
            (
                sequence.conversation.state,
                part,
                len(part) == sequence.unread and not sequence.ticket.answer.tokens,
            )
            for sequence, part in zip(self.reading, self.parts, strict=True)
        ]

    @property
    def written_size(self) -> int:
        """Roots and drafted nodes."""
        return len(self.writing) + sum(map(len, self.drafts))

    @property
    def read_size(self) -> int:
        """Tokens that are read."""
        return sum(map(len, self.parts))

    @property
    def size(self) -> int:
        """Tokens in all."""
        return self.written_size + self.read_size + self.padding


class Composer(Generic[State]):
    """Shares the batches among the live sequences, by what tokens cost on this machine."""

    def __init__(
        self, engine: Engine[State], clock: Callable[[], float] = time.perf_counter
    ) -> None:
        """`clock` tells the time, in seconds."""
        self._engine = engine
        self._clock = clock
        self._looking = Looking()
        self._prices = Prices(engine.cost)

    def compose(self, live: list[LiveSequence[State]], free_cells: int) -> Batch[State]:
        """The batch of the next step. `free_cells`, at least one for each sequence, limit its
        size."""
        target, cost = self._engine.target, self._engine.cost
        writing = [sequence for sequence in live if not sequence.unread]
        reading = self._readers(live)
        context = sum(len(sequence.conversation.state.tokens) for sequence in live)
        seconds = self._prices.seconds(context, len(writing), bool(reading))
        room = min(free_cells, target.max_batch) - len(live)
        drafts, looks = self._drafts(writing, context, len(live), seconds, room)
        nodes = sum(map(len, drafts))
        room += len(reading) - nodes
        # Who reads will write: a step may be as long now as it will be then.
        written = max(seconds[len(writing) + nodes], cost.seconds(context)[len(live)])
        parts = self._parts(reading, min(room, self._reading_size(written if writing else None)))
        if target.most_reads is not None:
            _count_turns(reading, parts)
        padding = 0
        if writing and not reading:
            first = len(writing[0].conversation.state.tokens)
            padding = self._engine.padding(len(writing) + nodes, context, first)
            padding = padding if padding <= room else 0
        is_known = cost.is_known and bool(writing)
        return Batch(
            writing,
            drafts,
            reading,
            parts,
            padding,
            context,
            looks,
            seconds[len(writing) + nodes] if is_known else None,
            seconds[len(writing)] / len(writing) if is_known else None,
        )

    def _readers(self, live: list[LiveSequence[State]]) -> list[LiveSequence[State]]:
        """Whose prompts are read in the next step: all that wait for nobody or, where that would
        take the batch apart, those whose turn it is. A turn is long, so that most prompts need one:
        who has read all of it writes, and few are left out of the batch of those that write."""
        readers = [sequence for sequence in live if sequence.unread and sequence.leader is None]
        most = self._engine.target.most_reads
        if most is None:
            return readers
        readers.sort(key=lambda sequence: (not sequence.turn, sequence.waits_since))
        return readers[:most]

    def _drafts(
        self,
        writing: list[LiveSequence[State]],
        context: int,
        live: int,
        seconds: Sequence[float],
        room: int,
    ) -> tuple[list[DraftTree], list[Look]]:
        """The drafts to send, and what they took to find. A look is short where a token is.
        `seconds` is the time of the batch by the tokens that are written in it."""
        engine = self._engine
        if not writing:
            return [], []
        floor = engine.cost.floor(context, len(writing))
        if engine.cost.is_known:
            plain = seconds[len(writing)]
            floor += self._looking.floor(plain / len(writing))
            self._pass_over(writing, plain)
        drafts, looks = [], []
        for sequence in writing:
            draft, look = self._look(sequence, floor)
            drafts.append(draft)
            looks.append(look)
        started = self._clock()
        limits = Limits(engine.target.max_branches, room)
        worth = self._prices.worth(seconds, context, len(writing), live)
        planned = plan_drafts(drafts, worth, limits)
        # Comparing them is part of the looks.
        each = (self._clock() - started) / max(1, sum(map(len, drafts)))
        for draft, look in zip(drafts, looks, strict=True):
            look.seconds += each * len(draft)
        return planned, looks

    def _pass_over(self, writing: list[LiveSequence[State]], plain: float) -> None:
        """Lets those sequences go without a look whose turn it is not. `plain` is the time of the
        step without drafts."""
        guards = [sequence.conversation.guard for sequence in writing if self._may_look(sequence)]
        for guard, looks in zip(guards, self._looking.choose(guards, plain), strict=True):
            if not looks:
                guard.pass_over()

    def _may_look(self, sequence: LiveSequence[State]) -> bool:
        may_draft = self._engine.writer.may_draft(sequence.ticket.answer)
        return may_draft and sequence.conversation.guard.allows

    def _look(self, sequence: LiveSequence[State], floor: float) -> tuple[DraftTree, Look]:
        if not self._may_look(sequence):
            return DraftTree(), Look()
        started = self._clock()
        draft = self._engine.writer.draft(sequence.conversation, sequence.ticket.answer, floor)
        return draft, Look(len(draft), self._clock() - started)

    def _reading_size(self, written: float | None) -> int:
        """Tokens that may be read in a step whose roots and drafts take `written` seconds; None
        where nobody writes. Drafts count, or reading would fall behind where they are long."""
        known = self._prices.read_seconds
        if written is not None:
            spare = (_SLOWER - 1.0) * written
            return _LEAST_PART if known is None else max(_LEAST_PART, int(spare / known))
        return _FIRST_PART if known is None else max(_LEAST_PART, int(_ALONE_SECONDS / known))

    def _parts(self, reading: list[LiveSequence[State]], budget: int) -> list[list[int]]:
        """Shares the tokens of a step among the prompts, evenly but for what a short one does not
        need: so a short prompt need not wait for a long one. Each gets one at least."""
        sizes = [1] * len(reading)
        budget -= len(reading)
        hungry = list(range(len(reading)))
        while budget > 0 and (hungry := [n for n in hungry if sizes[n] < reading[n].unread]):
            for number in hungry:
                share = max(1, budget // len(hungry))
                more = min(share, reading[number].unread - sizes[number], budget)
                sizes[number] += more
                budget -= more
        parts = []
        for sequence, size in zip(reading, sizes, strict=True):
            done = len(sequence.conversation.state.tokens)
            parts.append(sequence.text[done : done + size])
        return parts

    def learn(self, batch: Batch[State], seconds: float) -> None:
        """The batch took so many seconds."""
        if not batch.read_size:
            self._engine.cost.observe(batch.size, batch.context, seconds)
            return
        if batch.writing and batch.decode_seconds is None:
            return
        self._prices.learn_reading(batch.read_size, seconds - (batch.decode_seconds or 0.0))

    def shares(
        self, batch: Batch[State], seconds: float
    ) -> Iterator[tuple[LiveSequence[State], DraftTree, StepStatistics]]:
        """What the step cost each writing sequence: its look, an equal part of a step without
        drafts, and of the rest as much as its draft is of all drafts. What reads took is left out.
        What is added to the time of drafting meanwhile is the time of learning."""
        if batch.reads and batch.decode_seconds is not None:
            seconds = min(seconds, batch.decode_seconds)
        writers = len(batch.writing)
        nodes = sum(map(len, batch.drafts))
        plain = min(seconds, (batch.plain_share or seconds) * writers) if nodes else seconds
        for sequence, tree, look in zip(batch.writing, batch.drafts, batch.looks, strict=True):
            of_drafts = (seconds - plain) * len(tree) / nodes if nodes else 0.0
            statistics = StepStatistics(
                draft_size=len(tree),
                draft_seconds=look.seconds,
                decode_seconds=plain / writers + of_drafts,
            )
            yield sequence, tree, statistics
            if look.nodes is not None:
                learning = statistics.draft_seconds - look.seconds
                paid = sequence.conversation.guard.pays
                self._looking.observe(look.nodes, look.seconds, learning, paid=paid)


def _count_turns(reading: list[LiveSequence[State]], parts: list[list[int]]) -> None:
    """The parts are being read: ends the turns that have been long enough."""
    for sequence, part in zip(reading, parts, strict=True):
        sequence.turn += len(part)
        if sequence.turn >= _TURN:
            sequence.turn, sequence.waits_since = 0, next(_ticks)
