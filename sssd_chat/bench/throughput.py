"""How many tokens a second come out when many ask at once: what was measured, and its figures.

The same prompts are answered in each mode. `parallel` prompts are under way at any time: when an
answer ends, the next prompt begins.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

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
