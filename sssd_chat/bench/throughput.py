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

_GOLDEN_RATIO = (5**0.5 - 1) / 2
"""Its multiples, without their whole parts, fill the unit interval evenly."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked. The limits differ from a half to one and a half of their mean: were they the
    same, answers that begin together would end together, and reading would disturb nobody."""

    prompt: tuple[int, ...]
    max_tokens: int


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
    """How long a client waits for a token after the first one, on average; None when no answer
    had two."""
    first_token_seconds: float
    """On average over the answers."""
    tokens_per_step: float | None
    """τ; None where it is not known."""


def together(runs: Sequence[ThroughputRun]) -> Throughput:
    """The figures of runs of one mode, at least one."""
    answers = [answer for run in runs for answer in run.answers]
    tokens = sum(run.tokens for run in runs)
    waits = sum(answer.tokens - 1 for answer in answers if answer.tokens)
    steps = [answer.steps for answer in answers if answer.steps is not None]
    return Throughput(
        runs[0].parallel,
        runs[0].mode,
        tokens,
        tokens / sum(run.seconds for run in runs),
        1e3 * sum(answer.writing_seconds for answer in answers) / waits if waits else None,
        statistics.fmean(answer.first_token_seconds for answer in answers),
        tokens / sum(steps) if steps else None,
    )


def tasks_for(
    prompts: Sequence[Sequence[int]], parallel: int, least: int, max_tokens: int
) -> list[Task]:
    """As many tasks as keep `parallel` places busy for a while, twice as many and `least` at least;
    where there are not so many prompts, some come again. `max_tokens` is their limit on average."""
    count = max(least, 2 * parallel)
    return [
        Task(tuple(prompt), max(2, round(max_tokens * (0.5 + number * _GOLDEN_RATIO % 1.0))))
        for number, prompt in enumerate(itertools.islice(itertools.cycle(prompts), count))
    ]
