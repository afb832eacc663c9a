"""Plain decoding and drafts for many at once, side by side on one model.

Each mode has a context of its own, and they take turns every half a second, so that a machine whose
speed drifts is as slow for the one as for the other.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sssd_chat.bench.throughput import PLAIN, SSSD, AnswerTime, Task, ThroughputRun
from sssd_chat.drafting import Drafter, Experience, SssdDrafter
from sssd_chat.errors import UserError
from sssd_chat.generation.batching import Progress, Request, Scheduler
from sssd_chat.generation.engine import Engine, GenerationSettings
from sssd_chat.generation.loading import EngineSettings, State, load_engine
from sssd_chat.generation.opening import target_settings
from sssd_chat.generation.tuning import tuned
from sssd_chat.llama.model import Model
from sssd_chat.llama.target import Target
from sssd_chat.llama.vocabulary import Vocabulary

_TURN_SECONDS = 0.5
"""A mode's turn ends with the first step after so long."""


class Stopwatch:
    """A clock that stands still while the other mode has its turn."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        """It stands at 0. `clock` tells the time, in seconds."""
        self._clock = clock
        self._before = 0.0
        self._since: float | None = None

    def __call__(self) -> float:
        """Seconds for which it has run."""
        running = 0.0 if self._since is None else self._clock() - self._since
        return self._before + running

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Lets it run for as long as the block does."""
        self._since = self._clock()
        try:
            yield
        finally:
            self._before, self._since = self(), None


@dataclass(frozen=True, slots=True)
class Mode:
    """A way to answer, and what it answers with. Nobody else may use the engine meanwhile."""

    name: str
    engine: Engine[State]
    drafting: bool


class ModeRun:
    """All tasks in one mode, a turn at a time."""

    def __init__(self, mode: Mode, tasks: Sequence[Task], parallel: int) -> None:
        """Nothing that was learned before is known: it might be the answers to these tasks."""
        self._mode = mode
        self._parallel = parallel
        self._clock = Stopwatch()
        self._scheduler = Scheduler(mode.engine, _new_drafters(mode.engine.vocabulary), self._clock)
        self._waiting = iter([_request(task, mode.drafting) for task in tasks])
        self._answers: list[AnswerTime] = []
        self._begin(parallel)

    @property
    def is_over(self) -> bool:
        """Whether all is answered."""
        return self._scheduler.is_idle

    def take_turn(self, seconds: float = _TURN_SECONDS) -> None:
        """Goes on for so long. Raises UserError when an answer fails."""
        with self._clock.running():
            ends = self._clock() + seconds
            while not self.is_over and self._clock() < ends:
                for progress in self._scheduler.step():
                    if progress.is_last:
                        self._answers.append(_answer_time(progress))
                        self._begin(1)

    def result(self) -> ThroughputRun:
        """What was done so far."""
        name, seconds = self._mode.name, self._clock()
        return ThroughputRun(self._parallel, name, seconds, tuple(self._answers))

    def close(self) -> None:
        """Leaves the cache empty."""
        self._scheduler.close()

    def _begin(self, count: int) -> None:
        for request in itertools.islice(self._waiting, count):
            self._scheduler.add(request)


def _request(task: Task, drafting: bool) -> Request:
    return Request(task.prompt, GenerationSettings(max_tokens=task.max_tokens, drafting=drafting))


def _new_drafters(vocabulary: Vocabulary) -> Callable[[], Drafter]:
    experience = Experience()
    return lambda: SssdDrafter(experience, is_end=vocabulary.is_end_of_generation)


def _answer_time(progress: Progress) -> AnswerTime:
    times, answer = progress.times, progress.statistics
    if progress.error is not None:
        raise UserError(f"An answer failed: {progress.error}")
    assert times is not None and answer is not None
    assert times.admitted is not None and times.finished is not None
    first = times.finished if times.first_token is None else times.first_token
    return AnswerTime(answer.emitted, first - times.admitted, times.finished - first, answer.steps)


def side_by_side(
    modes: Sequence[Mode],
    tasks: Sequence[Task],
    parallel: int,
    on_turn: Callable[[Sequence[ThroughputRun]], None] = lambda _: None,
) -> list[ThroughputRun]:
    """Does all tasks greedily in each mode, `parallel` at a time. `on_turn` is told how far
    they are after each round of turns. Raises UserError when an answer fails."""
    runs = [ModeRun(mode, tasks, parallel) for mode in modes]
    try:
        while not all(run.is_over for run in runs):
            for run in runs:
                run.take_turn()
            on_turn([run.result() for run in runs])
        return [run.result() for run in runs]
    finally:
        for run in runs:
            run.close()


@dataclass(frozen=True, slots=True)
class OpenModes:
    """A loaded model with an engine for each mode."""

    model: Model
    target: Target
    """Of the mode with drafts; that of the other one is made alike."""
    modes: tuple[Mode, ...]


@contextlib.contextmanager
def open_modes(settings: EngineSettings) -> Iterator[OpenModes]:
    """Loads a model for plain decoding and for drafts. Raises UserError when it cannot be used."""
    settings = tuned(settings)
    loaded = load_engine(settings)
    with contextlib.closing(loaded):
        target = Target(loaded.model, target_settings(settings))
        with contextlib.closing(target):
            engine = loaded.engine
            plain = Engine(target, engine.vocabulary, copy.deepcopy(engine.cost))
            modes = (Mode(PLAIN, plain, False), Mode(SSSD, engine, True))
            yield OpenModes(loaded.model, loaded.target, modes)
