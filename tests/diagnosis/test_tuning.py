"""What `tune` finds on machines whose speed is known."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sssd_chat.diagnosis.acceptance import CLASSES, SIZES, tokens_per_second
from sssd_chat.diagnosis.trials import Candidate, measure
from sssd_chat.diagnosis.tuning import Fixed, Tuner, TuningReport, as_tuning, thread_counts
from sssd_chat.llama.gguf import GgufHeader
from sssd_chat.llama.kv_cache import CacheSettings

USUAL = Candidate(4, 4, CacheSettings())
Cost = Callable[[Candidate, int], float]


class Machine:
    """A bench on which every batch takes what `cost` says, times some noise."""

    def __init__(self, cost: Cost, noise: float = 0.0, seed: int = 0) -> None:
        self.cost, self.noise = cost, noise
        self.random = random.Random(seed)
        self.can_draft = True
        self.measured: list[tuple[Candidate, int]] = []

    def seconds(self, candidate: Candidate, size: int) -> float:
        self.measured.append((candidate, size))
        return self.cost(candidate, size) * self.random.uniform(1, 1 + self.noise)


def usual_cost(candidate: Candidate, size: int) -> float:
    """Threads do not matter, nor does the cache."""
    return 0.01 * (1 + 0.2 * (size - 1))


def tune(bench: Machine, fixed: Fixed | None = None, is_lossy: bool = False) -> TuningReport:
    keys = {"x.block_count": 2, "x.embedding_length": 128, "x.attention.head_count": 2}
    header = GgufHeader(Path("m.gguf"), "x", keys, {}, 1, 1, 1, 1, 1, 1)
    stages: list[str] = []
    tuner = Tuner(
        bench,
        header,
        USUAL,
        thread_counts(4, 8),
        64,
        0.2,
        fixed or Fixed(),
        is_lossy,
        on_gpu=False,
        text_tokens=100,
        progress=lambda what, number: stages.append(what),
    )
    report = tuner.run()
    assert stages and stages[-1] == "finalists"
    return report


def test_what_is_faster_is_found() -> None:
    def cost(candidate: Candidate, size: int) -> float:
        threads = candidate.threads if size == 1 else candidate.threads_batch
        best = 2 if size == 1 else 8
        flash = 0.9 if candidate.cache.flash_attention == "on" else 1.0
        return usual_cost(candidate, size) * (1 + 0.1 * abs(threads - best)) * flash

    report = tune(Machine(cost, noise=0.01))
    best = report.best.candidate
    assert (best.threads, best.threads_batch) == (2, 8)
    assert best.cache == CacheSettings(flash_attention="on")
    assert report.verdict.is_better and not report.was_busy
    tuning = as_tuning(report, "2026-01-02")
    assert (tuning.threads, tuning.threads_batch, tuning.flash_attention) == (2, 8, "on")
    assert tuning.cache_type_k is None
    assert tuning.plain > tuning.plain_before and tuning.drafted > tuning.drafted_before


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.6])
def test_noise_changes_nothing(noise: float) -> None:
    """Where all ways are equally fast, the usual one stays, however often one tunes."""
    changed = 0
    for seed in range(20):
        report = tune(Machine(usual_cost, noise, seed))
        changed += report.best.candidate != USUAL
        if report.best.candidate == USUAL:
            assert as_tuning(report, "").changes == {}
    assert changed <= 1


def test_a_busy_machine_is_noticed() -> None:
    """Another program comes and goes: everything takes three times as long for a while."""
    bench = Machine(usual_cost)
    bench.cost = lambda candidate, size: (
        usual_cost(candidate, size) * (3 if len(bench.measured) // 40 % 2 else 1)
    )
    assert tune(bench).was_busy


def test_a_smaller_cache_is_only_told_unless_it_is_asked_for() -> None:
    def cost(candidate: Candidate, size: int) -> float:
        return usual_cost(candidate, size) * (0.7 if candidate.cache.type_k == "q8_0" else 1.0)

    told = tune(Machine(cost))
    assert told.best.candidate == USUAL
    assert told.small_cache is not None and told.small_cache.verdict.is_better
    assert told.small_cache.verdict.gain == pytest.approx(1 / 0.7 - 1, rel=0.01)
    kept = as_tuning(tune(Machine(cost), is_lossy=True), "")
    assert (kept.cache_type_k, kept.cache_type_v, kept.flash_attention) == ("q8_0", "q8_0", "on")


def test_what_the_user_chose_is_not_measured() -> None:
    bench = Machine(usual_cost)
    tune(bench, Fixed(threads=True, cache=True))
    assert {candidate for candidate, _ in bench.measured} == {USUAL}
    bench = Machine(usual_cost)
    tune(bench, Fixed(threads=True))
    assert {candidate.threads for candidate, _ in bench.measured} == {4}
    assert len({candidate.cache for candidate, _ in bench.measured}) == 3


def test_candidates_take_turns_and_none_is_always_first() -> None:
    candidates = [replace(USUAL, threads=n) for n in (1, 2, 3)]
    bench = Machine(usual_cost)
    trials = measure(bench, candidates, [1, 4], 0.0, lambda number: None)
    assert [len(trial.rounds) for trial in trials] == [3, 3, 3]
    rounds = [candidate.threads for candidate, size in bench.measured[6:] if size == 1]
    assert rounds == [1, 2, 3, 2, 3, 1, 3, 1, 2]
    ends = iter([0.0, 1.0, 2.0, 9.0])
    trials = measure(bench, candidates, [1], 5.0, lambda number: None, lambda: next(ends))
    assert len(trials[0].rounds) == 5


def test_the_machine_is_judged_by_what_drafts_hold() -> None:
    assert sum(one.share for one in CLASSES) == pytest.approx(1)
    for one in CLASSES:
        assert one.emitted[0] == 1.0 and list(one.emitted) == sorted(one.emitted)
    flat = tokens_per_second(dict.fromkeys(SIZES, 0.1))
    steep = tokens_per_second({size: 0.1 * size for size in SIZES})
    # Where further tokens cost nothing, all the drafts are taken; where each costs a step, none.
    assert flat == pytest.approx(10 / sum(one.share / one.emitted[-1] for one in CLASSES))
    assert steep == pytest.approx(10)
    assert tokens_per_second({1: 0.1, 16: 0.1}, can_draft=False) == pytest.approx(10)
    # A step up the staircase is padded to.
    stairs = {1: 0.1, 2: 0.2, 3: 0.2, 4: 0.12}
    assert tokens_per_second(stairs) == pytest.approx(
        tokens_per_second(stairs | {2: 0.12, 3: 0.12})
    )


@pytest.mark.parametrize(("physical", "logical"), [(1, 1), (2, 2), (4, 8), (16, 32), (64, 128)])
def test_thread_counts_reach_from_few_to_all(physical: int, logical: int) -> None:
    counts = thread_counts(physical, logical)
    assert counts == sorted(set(counts)) and {physical, logical} <= set(counts)
    assert counts[0] >= 1 and counts[-1] == logical
    assert len(counts) <= 14
