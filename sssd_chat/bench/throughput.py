"""How many tokens a second come out when many ask at once, with drafts and without.

The same prompts are answered in each mode, and the modes take turns after a few of them, so that
a machine whose speed drifts disturbs their ratio little. `parallel` prompts are under way at any
time: when an answer ends, the next prompt begins.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sssd_chat.drafting import Experience
from sssd_chat.errors import UserError
from sssd_chat.generation.batching import Progress, Request, Scheduler
from sssd_chat.generation.engine import GenerationSettings
from sssd_chat.generation.loading import LoadedEngine

PLAIN = "plain"
SSSD = "sssd"
LLAMA_SERVER = "llama-server"


@dataclass(frozen=True, slots=True)
class AnswerTime:
    """One answer."""

    tokens: int
    first_token_seconds: float
    """From asking to the first token, waiting for a place not included."""
    writing_seconds: float
    """From the first token to the last."""
    steps: int | None = None
    """None where it is not known."""


@dataclass(frozen=True, slots=True)
class ThroughputRun:
    """Some prompts in one mode."""

    parallel: int
    mode: str
    seconds: float
    """From the first prompt to the end of the last answer, reading the prompts included."""
    answers: tuple[AnswerTime, ...]

    @property
    def tokens(self) -> int:
        """Tokens of all answers."""
        return sum(answer.tokens for answer in self.answers)


@dataclass(frozen=True, slots=True)
class Throughput:
    """The runs of one mode with one number of prompts at once, taken together."""

    parallel: int
    mode: str
    tokens: int
    tokens_per_second: float
    """All tokens over all of the time."""
    milliseconds_per_token: float | None
    """How long a client waits for a token after the first one: the median over the answers. None
    when no answer had two."""
    first_token_seconds: float
    """The median over the answers."""
    tokens_per_step: float | None
    """τ; None where it is not known."""


class Peer(Protocol):
    """A way to answer many prompts."""

    parallel: int
    """How many are under way at any time."""

    def begin(self) -> None:
        """Forgets what was learned: the prompts come again."""

    def run(self, prompts: Sequence[Sequence[int]], max_tokens: int) -> ThroughputRun:
        """Answers all prompts greedily, some at a time."""


class SchedulerPeer:
    """Our own engine, with or without drafts."""

    def __init__(self, loaded: LoadedEngine, parallel: int, drafting: bool) -> None:
        self._loaded = loaded
        self.parallel = parallel
        self._drafting = drafting
        self._experience = Experience()

    def begin(self) -> None:
        """See Peer. What drafts were learned from would be the answers to the same prompts."""
        self._experience = Experience()

    def run(self, prompts: Sequence[Sequence[int]], max_tokens: int) -> ThroughputRun:
        """See Peer. No text of an earlier run is left in the cache. Raises UserError when an answer
        fails."""
        loaded = self._loaded
        loaded.experience = self._experience
        scheduler = Scheduler(loaded.engine, loaded.new_drafter)
        settings = GenerationSettings(max_tokens=max_tokens, drafting=self._drafting)
        waiting = iter([Request(tuple(prompt), settings) for prompt in prompts])
        answers = []
        started = time.perf_counter()
        for request in itertools.islice(waiting, self.parallel):
            scheduler.add(request)
        while not scheduler.is_idle:
            for progress in scheduler.step():
                if progress.is_last:
                    answers.append(_answer_time(progress))
                    for request in itertools.islice(waiting, 1):
                        scheduler.add(request)
        seconds = time.perf_counter() - started
        scheduler.close()
        mode = SSSD if self._drafting else PLAIN
        return ThroughputRun(self.parallel, mode, seconds, tuple(answers))


def _answer_time(progress: Progress) -> AnswerTime:
    times, answer = progress.times, progress.statistics
    if progress.error is not None:
        raise UserError(f"An answer failed: {progress.error}")
    assert times is not None and answer is not None
    assert times.admitted is not None and times.finished is not None
    first = times.finished if times.first_token is None else times.first_token
    return AnswerTime(answer.emitted, first - times.admitted, times.finished - first, answer.steps)


def take_turns(
    peers: Mapping[str, Peer], prompts: Sequence[Sequence[int]], max_tokens: int, rounds: int
) -> Iterator[ThroughputRun]:
    """Answers all prompts in each mode once a round. A mode's turn is two prompts for each place,
    and from turn to turn another mode is the first."""
    names = list(peers)
    turns = itertools.count()
    for _ in range(rounds):
        for peer in peers.values():
            peer.begin()
        for part in _parts(prompts, 2 * max(peer.parallel for peer in peers.values())):
            first = next(turns) % len(names)
            for name in names[first:] + names[:first]:
                yield peers[name].run(part, max_tokens)


def _parts(prompts: Sequence[Sequence[int]], least: int) -> list[Sequence[Sequence[int]]]:
    """The prompts in parts of at least so many, or in one."""
    count = max(1, len(prompts) // least)
    bounds = [len(prompts) * number // count for number in range(count + 1)]
    return [prompts[start:end] for start, end in itertools.pairwise(bounds)]


def together(runs: Sequence[ThroughputRun]) -> Throughput:
    """The figures of runs of one mode, at least one."""
    answers = [answer for run in runs for answer in run.answers]
    tokens = sum(run.tokens for run in runs)
    waits = [a.writing_seconds / (a.tokens - 1) for a in answers if a.tokens > 1]
    steps = [answer.steps for answer in answers if answer.steps is not None]
    return Throughput(
        runs[0].parallel,
        runs[0].mode,
        tokens,
        tokens / sum(run.seconds for run in runs),
        1e3 * statistics.median(waits) if waits else None,
        statistics.median(answer.first_token_seconds for answer in answers),
        tokens / sum(steps) if steps else None,
    )


def prompts_for(prompts: Sequence[Sequence[int]], parallel: int, least: int) -> list[Sequence[int]]:
    """As many prompts as keep `parallel` places busy for a while, twice as many and `least` at
    least; where there are not so many, some come again."""
    count = max(least, 2 * parallel)
    return list(itertools.islice(itertools.cycle(prompts), count))
