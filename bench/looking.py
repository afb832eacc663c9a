"""What looking for drafts takes of a step when many answers are written at once.

    python bench/looking.py RECORDS.jsonl [--plain 10] [--more 0.4]

Recorded answers are written by the scheduler, N at a time, with a target that knows them and a
made-up cost of a step: `--plain` milliseconds, and `--more` percent of them for each further token.
Drafting takes the processor time that it takes here. Prints, for each N, the speed over that
without drafts, the share of all time that drafting and learning took, and the tokens a step of an
answer.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sssd_chat.bench.records import Record, read_records
from sssd_chat.drafting import ROOT, DraftTree, Experience, SssdDrafter
from sssd_chat.generation.answer import GenerationSettings
from sssd_chat.generation.batching import Request, Scheduler
from sssd_chat.generation.cost import StepCost
from sssd_chat.generation.engine import MAX_DRAFT, Engine
from sssd_chat.generation.statistics import AnswerStatistics
from sssd_chat.llama.shape import DraftShape

_LARGEST = 512
"""Tokens of a batch."""


def main() -> None:
    """Writes the answers for each number of places, and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", type=Path)
    parser.add_argument("--plain", type=float, default=10.0, help="milliseconds of a step")
    parser.add_argument("--more", type=float, default=0.4, help="percent of it, each token more")
    parser.add_argument("--answers", type=int, default=128)
    parser.add_argument("--at-once", type=int, nargs="+", default=[1, 4, 16, 64])
    options = parser.parse_args()
    # Other programs do not change it. Everything here looks the clock up when it needs it.
    time.perf_counter = time.thread_time
    records = numbered(read_records([options.records])[: options.answers])
    steps = [options.plain / 1e3 * (1 + options.more / 100 * (n - 1)) for n in range(_LARGEST + 1)]
    gc.freeze()
    print(" at once   speed  drafting  tokens a step")
    for count in options.at_once:
        plain = sum(answer.decode_seconds for answer in write(records, count, steps, False))
        answers = write(records, count, steps, True)
        drafting = sum(answer.draft_seconds for answer in answers)
        seconds = drafting + sum(answer.decode_seconds for answer in answers)
        tokens = sum(answer.emitted - 1 for answer in answers)
        passes = sum(answer.steps - 1 for answer in answers)
        print(
            f"{count:8} {plain / seconds:7.2f} {drafting / seconds:9.1%} {tokens / passes:14.2f}",
            flush=True,
        )


def numbered(records: Sequence[Record]) -> list[Record]:
    """The records with the numbers from 0 on as tokens, so that a row of logits is short."""
    numbers: dict[int, int] = {}

    def renamed(tokens: Sequence[int]) -> tuple[int, ...]:
        return tuple(numbers.setdefault(token, len(numbers)) for token in tokens)

    return [
        Record(
            record.set,
            record.id,
            record.turn,
            renamed(record.prompt),
            renamed(record.out),
            tuple(map(renamed, record.top)),
        )
        for record in records
    ]


def write(
    records: Sequence[Record], count: int, steps: Sequence[float], drafting: bool
) -> list[AnswerStatistics]:
    """All answers, `count` at a time, with drafts or without."""
    target = RecordedTarget(records, count, steps)
    cost = StepCost(MAX_DRAFT + count)
    for size in range(1, MAX_DRAFT + count + 1):
        cost.observe(size, 1, steps[size])
    engine: Engine[Text] = Engine(target, Letters(target.size), cost)  # type: ignore[arg-type]
    experience = Experience()
    scheduler: Scheduler[Text] = Scheduler(
        engine, lambda: SssdDrafter(experience), time.thread_time
    )
    waiting = iter(records)
    answers = []

    def ask(number: int) -> None:
        for record in itertools.islice(waiting, number):
            settings = GenerationSettings(max_tokens=len(record.out), drafting=drafting)
            scheduler.add(Request(record.prompt, settings))

    ask(count)
    while not scheduler.is_idle:
        for progress in scheduler.step():
            if progress.statistics is not None:
                answers.append(progress.statistics)
                ask(1)
    scheduler.close()
    return answers


class Letters:
    """A vocabulary that nobody reads."""

    pointer = None

    def __init__(self, size: int) -> None:
        self.size = size

    def is_end_of_generation(self, token: int) -> bool:
        """Answers end by their length."""
        return False

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """The same for all."""
        return b"a"


@dataclass(slots=True, eq=False)
class Text:
    """A text in the target."""

    tokens: list[int] = field(default_factory=list)
    record: Record | None = None
    root: int = -1
    tree: DraftTree = field(default_factory=DraftTree)


class RecordedTarget:
    """Goes on with each prompt as the recorded model did; see Target for the members."""

    shape = DraftShape.TREES
    least_shared = None
    context_length = 1 << 20
    max_batch = _LARGEST
    max_draft = MAX_DRAFT
    max_branches = 10_000

    def __init__(self, records: Sequence[Record], count: int, steps: Sequence[float]) -> None:
        """`steps[n]` is the time of a batch of n tokens."""
        self.cells = 1 << 30
        self.max_sequences = count
        self.size = 1 + max(
            max(*record.prompt, *record.out, *map(max, record.top)) for record in records
        )
        self._records = {record.prompt: record for record in records}
        self._steps = steps
        self._logits = np.zeros(self.size, dtype=np.float32)
        self._used: list[int] = []

    def open_sequence(self) -> Text:
        """An empty text."""
        return Text()

    def close_sequence(self, sequence: Text) -> None:
        """Nothing is kept."""

    def rewind(self, sequence: Text, length: int) -> int:
        """Any length is possible; a place is empty for each answer."""
        sequence.tokens.clear()
        return 0

    def verify(
        self,
        items: Sequence[tuple[Text, int, DraftTree]],
        padding: int = 0,
        reads: Sequence[tuple[Text, Sequence[int], bool]] = (),
    ) -> float:
        """Takes the made-up time."""
        for sequence, root, tree in items:
            sequence.root, sequence.tree = root, tree
        for sequence, tokens, is_whole in reads:
            sequence.tokens.extend(tokens)
            sequence.root, sequence.tree = -1, DraftTree()
            if is_whole:
                sequence.record = self._records[tuple(sequence.tokens)]
        size = sum(1 + len(tree) for _, _, tree in items) + sum(len(read[1]) for read in reads)
        return self._steps[min(size + padding, _LARGEST)]

    def commit(self, sequence: Text, path: Sequence[int]) -> None:
        """Keeps the root and the path."""
        sequence.tokens += [sequence.root, *(sequence.tree.tokens[node] for node in path)]
        sequence.root, sequence.tree = -1, DraftTree()

    def logits(self, sequence: Text, node: int = ROOT) -> Any:
        """The recorded best tokens, in their order; zeros where the recorded answer goes on
        otherwise."""
        record, place = sequence.record, len(sequence.tokens)
        assert record is not None
        place -= len(record.prompt)
        drafted = [sequence.tree.tokens[n] for n in sequence.tree.path(node)]
        place += (sequence.root >= 0) + len(drafted)
        self._logits[self._used] = 0.0
        self._used = []
        is_true = list(record.out[place - len(drafted) : place]) == drafted
        if is_true and place < len(record.out):
            self._used = [record.out[place], *record.top[place][1:]]
        for rank, token in enumerate(self._used):
            self._logits[token] = 10.0 - rank
        return self._logits


if __name__ == "__main__":
    main()
