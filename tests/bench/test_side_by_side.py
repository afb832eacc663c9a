"""Plain decoding and drafts side by side: each answers all, and neither pays for the other."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from sssd_chat.bench import side_by_side as module
from sssd_chat.bench.side_by_side import Mode, Stopwatch, open_modes, side_by_side
from sssd_chat.bench.throughput import PLAIN, SSSD, Task, ThroughputRun, together
from sssd_chat.drafting import DraftTree
from sssd_chat.errors import UserError
from sssd_chat.generation.batching import Scheduler
from sssd_chat.generation.cost import StepCost
from sssd_chat.generation.engine import Engine
from sssd_chat.generation.loading import EngineSettings
from tests.generation.toy import ToyState, ToyTarget, ToyVocabulary
from tests.tiny_models import tiny_model

TASKS = [Task((1, *range(2, 5 + number)), 12 + number) for number in range(5)]
WRITTEN = sum(task.max_tokens for task in TASKS)


class Clock:
    """Goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class TimedTarget(ToyTarget):
    """A decode takes `seconds` of a clock that all share."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        super().__init__(12, sequences=3)
        self.clock, self.seconds = clock, seconds

    def verify(
        self,
        items: Sequence[tuple[ToyState, int, DraftTree]],
        padding: int = 0,
        reads: Sequence[tuple[ToyState, Sequence[int], bool]] = (),
    ) -> float:
        super().verify(items, padding, reads)
        self.clock.now += self.seconds
        return self.seconds


def test_a_stopwatch_counts_what_it_ran() -> None:
    clock = Clock()
    watch = Stopwatch(clock)
    clock.now += 5
    assert watch() == 0
    with watch.running():
        clock.now += 1
        assert watch() == 1
    clock.now += 5
    with pytest.raises(ValueError), watch.running():
        clock.now += 2
        raise ValueError
    clock.now += 5
    assert watch() == 3


def timed_modes(monkeypatch: pytest.MonkeyPatch, *seconds: float) -> list[Mode]:
    clock = Clock()
    monkeypatch.setattr(Stopwatch.__init__, "__defaults__", (clock,))
    targets = [TimedTarget(clock, each) for each in seconds]
    return [
        Mode(str(number), Engine(target, ToyVocabulary(12), StepCost(64)), False)  # type: ignore[arg-type]
        for number, target in enumerate(targets)
    ]


def test_each_mode_is_timed_by_its_own_steps_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    modes = timed_modes(monkeypatch, 0.1, 0.3)
    runs = side_by_side(modes, TASKS, 3)
    fast, slow = (mode.engine.target for mode in modes)
    assert isinstance(fast, TimedTarget) and isinstance(slow, TimedTarget)
    assert runs[0].seconds == pytest.approx(0.1 * len(fast.batches))
    assert runs[1].seconds == pytest.approx(0.3 * len(slow.batches))
    # The same was done in both, and all that is told of an answer is three times as long.
    assert runs[0].tokens == runs[1].tokens == WRITTEN
    for one, other in zip(runs[0].answers, runs[1].answers, strict=True):
        assert other.writing_seconds == pytest.approx(3 * one.writing_seconds)
        assert other.first_token_seconds == pytest.approx(3 * one.first_token_seconds)


def test_turns_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    modes = timed_modes(monkeypatch, 0.1, 0.3)
    told: list[list[ThroughputRun]] = []
    side_by_side(modes, TASKS, 2, lambda runs: told.append(list(runs)))
    both = [[run.seconds for run in runs] for runs in told]
    for (first, second), (first_then, second_then) in itertools.pairwise(both):
        assert first_then - first <= module._TURN_SECONDS + 0.1
        assert second_then - second <= module._TURN_SECONDS + 0.3


def test_an_answer_that_fails_ends_it_and_the_cache_is_empty(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    modes = timed_modes(monkeypatch, 0.1, 0.1)
    monkeypatch.setattr(Scheduler, "step", _failing(Scheduler.step))
    with pytest.raises(UserError, match="An answer failed: broken"):
        side_by_side(modes, TASKS, 2)
    for mode in modes:
        assert isinstance(mode.engine.target, ToyTarget)
        assert not mode.engine.target.open


def _failing(step):  # type: ignore[no-untyped-def]
    def failing(scheduler):  # type: ignore[no-untyped-def]
        reports = step(scheduler)
        return reports if scheduler.figures().steps < 5 else scheduler.fail_live("broken")

    return failing


def test_the_same_is_answered_with_drafts_and_without(models: Path) -> None:
    settings = EngineSettings(tiny_model(models), context_length=256, threads=1, sequences=3)
    with open_modes(settings) as opened:
        rounds = [side_by_side(opened.modes, TASKS, 3) for _ in range(2)]
    for runs in rounds:
        assert [run.mode for run in runs] == [PLAIN, SSSD]
        for run in runs:
            # A tiny model without an end writes all that it may.
            assert sorted(answer.tokens for answer in run.answers) == [12, 13, 14, 15, 16]
    plain = together([runs[0] for runs in rounds])
    assert (plain.parallel, plain.tokens, plain.tokens_per_step) == (3, 2 * WRITTEN, 1.0)
    drafted = together([runs[1] for runs in rounds])
    assert drafted.tokens_per_step is not None and drafted.tokens_per_step >= 1


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "no.gguf").write_text("no")
    with pytest.raises(UserError), open_modes(EngineSettings(tmp_path / "no.gguf")):
        pass
