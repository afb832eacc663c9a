"""Ways to run a model, and what they cost: measured in turns, so that a busy moment hits all."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sssd_chat.diagnosis.acceptance import tokens_per_second
from sssd_chat.llama.kv_cache import CacheSettings

LEAST_ROUNDS = 3
"""Fewer tell nothing of the noise."""
_MOST_ROUNDS = 15
_LEAST_GAIN = 0.02
"""Less than this is not worth a change, however steady the measurements are."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to run the model."""

    threads: int
    threads_batch: int
    cache: CacheSettings


class Bench(Protocol):
    """Where candidates are measured."""

    can_draft: bool

    def seconds(self, candidate: Candidate, size: int) -> float:
        """The time of one batch of `size` tokens."""


@dataclass(slots=True)
class Trial:
    """The measurements of one candidate."""

    candidate: Candidate
    can_draft: bool
    rounds: list[dict[int, float]] = field(default_factory=list)
    """Seconds by batch size, one table a round."""

    @property
    def curve(self) -> dict[int, float]:
        """The median of each size."""
        return {
            size: statistics.median(one[size] for one in self.rounds) for size in self.rounds[0]
        }

    @property
    def plain(self) -> float:
        """Tokens a second without drafts."""
        return 1 / self.curve[1]

    @property
    def drafted(self) -> float:
        """Tokens a second that drafting may be expected to reach; without drafts, plain ones."""
        return tokens_per_second(self.curve, self.can_draft)

    def scores(self) -> list[float]:
        """The same, of each round by itself."""
        return [tokens_per_second(one, self.can_draft) for one in self.rounds]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One trial against another that was measured in turns with it."""

    gain: float
    """By how much it is faster: 0.1 for a tenth; below 0 where it is slower."""
    noise: float
    """How much the gain differs from round to round: the middle half of the rounds."""

    @property
    def is_better(self) -> bool:
        """Whether it is faster by more than chance."""
        return self.gain > max(self.noise, _LEAST_GAIN)


def compare(trial: Trial, usual: Trial) -> Verdict:
    """How much faster a trial is than the usual way, by what matters: expected tokens a second."""
    ratios = [new / old for new, old in zip(trial.scores(), usual.scores(), strict=True)]
    return Verdict(statistics.median(ratios) - 1, spread(ratios) * statistics.median(ratios))


def spread(values: Sequence[float]) -> float:
    """The middle half of the values, as a part of their median."""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / middle


def measure(
    bench: Bench,
    candidates: Iterable[Candidate],
    sizes: Sequence[int],
    seconds: float,
    progress: Callable[[int], None],
    clock: Callable[[], float] = time.perf_counter,
) -> list[Trial]:
    """Measures each candidate once a round, for about `seconds` and at least three rounds; each
    round begins with another candidate. `progress` is called with the number of each round."""
    trials = [Trial(candidate, bench.can_draft) for candidate in candidates]
    for trial in trials:
        # The first batches plan their graphs and touch new memory.
        for size in (sizes[0], sizes[-1]):
            bench.seconds(trial.candidate, size)
    ends = clock() + seconds
    number = 0
    while number < LEAST_ROUNDS or (number < _MOST_ROUNDS and clock() < ends):
        progress(number + 1)
        turn = number % len(trials)
        for trial in trials[turn:] + trials[:turn]:
            trial.rounds.append({size: bench.seconds(trial.candidate, size) for size in sizes})
        number += 1
    return trials
