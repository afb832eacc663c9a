"""Finds out how a model runs fastest on this machine.

Threads first, then attention and cache, then the best against the usual way over the whole curve
of batch sizes. The judge is the speed that drafting may be expected to reach (`acceptance`): plain
speed counts in it, as the steps without a draft do. Whatever is not better by more than the noise
stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sssd_chat.diagnosis.acceptance import SIZES
from sssd_chat.diagnosis.trials import (
    LEAST_ROUNDS,
    Bench,
    Candidate,
    Trial,
    Verdict,
    compare,
    measure,
    spread,
)
from sssd_chat.drafting.size import interpolated
from sssd_chat.errors import UsageError
from sssd_chat.generation.tuning import Tuning
from sssd_chat.llama.gguf import GgufHeader
from sssd_chat.llama.kv_cache import OFF, ON, CacheSettings, check_cache

_SIZES = (1, 4, 16)
"""Enough to see a difference."""
_FINAL_SIZES = (SIZES, (1, 2, 3, 4, 8, 16, 32), (1, 2, 4, 8, 16))
"""For the finalists: the first that there is time for."""
_UNSTEADY = 0.15
"""Middle half of the rounds; of an idle machine a few hundredths."""
_SMALL_CACHE = "q8_0"
_SHARES = (0.4, 0.25, 0.35)
"""Of the time: threads, attention and cache, finalists."""

Progress = Callable[[str, int], None]
"""Called with what is being done, in a few words, and for the how manyth time."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """What the user chose, so that it is not looked at."""

    threads: bool = False
    cache: bool = False
    """The cache's numbers, or how attention reads them."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was tried."""

    option: str
    before: str
    after: str
    verdict: Verdict


@dataclass(slots=True)
class TuningReport:
    """What was measured, and what is best."""

    usual: Trial
    """As the model runs without tuning."""
    best: Trial
    """The same one where nothing was better."""
    text_tokens: int
    findings: list[Finding] = field(default_factory=list)
    small_cache: Finding | None = None
    """A cache in eight bits against the best: it changes what is written, so it is the user's
    choice. None where it was not looked at."""

    @property
    def verdict(self) -> Verdict:
        """The best against the usual, over the whole curve."""
        return compare(self.best, self.usual)

    @property
    def was_busy(self) -> bool:
        """Whether something else ran meanwhile: the usual way itself was not steady."""
        return spread(self.usual.scores()) > _UNSTEADY


@dataclass(slots=True)
class Tuner:
    """Measures one model for about `seconds`."""

    bench: Bench
    header: GgufHeader
    usual: Candidate
    thread_counts: Sequence[int]
    largest: int
    """Tokens of the largest batch that can be measured."""
    seconds: float
    fixed: Fixed
    is_lossy: bool
    """Whether a smaller cache may be chosen."""
    on_gpu: bool
    text_tokens: int
    progress: Progress
    _findings: list[Finding] = field(default_factory=list)
    _curve: dict[int, float] = field(default_factory=dict)
    """Of the usual way, as last measured."""

    def run(self) -> TuningReport:
        """Measures, and compares. Raises UserError when a context cannot be had."""
        best = self.usual
        if not self.fixed.threads and len(self.thread_counts) > 1:
            best = self._threads(best)
        small = None
        if not self.fixed.cache:
            best, small = self._attention(best)
        return self._finalists(best, small)

    def _measure(self, stage: int, what: str, candidates: Sequence[Candidate]) -> list[Trial]:
        seconds = _SHARES[stage] * self.seconds
        sizes = _SIZES if stage < 2 else self._final_sizes(seconds / len(candidates))
        trials = measure(
            self.bench,
            candidates,
            [size for size in sizes if size <= self.largest],
            seconds,
            lambda number: self.progress(what, number),
        )
        self._curve = trials[0].curve
        return trials

    def _final_sizes(self, seconds: float) -> tuple[int, ...]:
        """Those that can be measured three times in so many seconds."""
        known = self._curve or {1: self.bench.seconds(self.usual, 1)}
        cost = interpolated(known, max(SIZES))
        for sizes in _FINAL_SIZES:
            if LEAST_ROUNDS * sum(cost[size] for size in sizes) <= seconds:
                return sizes
        return _FINAL_SIZES[-1]

    def _threads(self, usual: Candidate) -> Candidate:
        """For one token at a time and for batches by themselves: they share no step."""
        trials = self._measure(
            0,
            "threads",
            [replace(usual, threads=n, threads_batch=n) for n in self.thread_counts],
        )
        here = next(trial for trial in trials if trial.candidate.threads == usual.threads)
        found = usual
        for option, part in (("threads", 1), ("threads_batch", None)):
            mixed = [self._mixed(trial, here, part) for trial in trials]
            best = max(mixed, key=lambda trial: trial.drafted)
            verdict = compare(best, here)
            count = getattr(best.candidate, option)
            self._note(f"--{option.replace('_', '-')}", getattr(usual, option), count, verdict)
            if verdict.is_better:
                found = replace(found, **{option: count})
        return found

    def _mixed(self, trial: Trial, usual: Trial, part: int | None) -> Trial:
        """The usual way with the single tokens of another trial (`part` 1), or with its batches."""
        rounds = [
            {size: (new if (size == 1) == (part == 1) else old)[size] for size in old}
            for new, old in zip(trial.rounds, usual.rounds, strict=True)
        ]
        return Trial(trial.candidate, trial.can_draft, rounds)

    def _attention(self, usual: Candidate) -> tuple[Candidate, Candidate | None]:
        """The better attention, and the same with a small cache where that is promising."""
        other = ON if usual.cache.flash_on(self.on_gpu) is False else OFF
        flipped = replace(usual, cache=replace(usual.cache, flash_attention=other))
        tiny = CacheSettings(_SMALL_CACHE, _SMALL_CACHE, ON)
        small = replace(usual, cache=tiny)
        can_be_small = self._is_possible(tiny)
        trials = self._measure(
            1, "attention and cache", [usual, flipped, *([small] if can_be_small else [])]
        )
        verdict = compare(trials[1], trials[0])
        self._note("--flash-attn", usual.cache.flash_attention, other, verdict)
        return flipped if verdict.is_better else usual, small if can_be_small else None

    def _is_possible(self, cache: CacheSettings) -> bool:
        try:
            check_cache(self.header, cache)
        except UsageError:
            return False
        return True

    def _finalists(self, best: Candidate, small: Candidate | None) -> TuningReport:
        """Over all sizes: what seemed better with few of them has to be better with all."""
        candidates = [self.usual]
        candidates += [best] if best != self.usual else []
        candidates += [small] if small is not None else []
        trials = self._measure(2, "finalists", candidates)
        usual, winner = trials[0], trials[1 if best != self.usual else 0]
        if not compare(winner, usual).is_better:
            winner = usual
        report = TuningReport(usual, winner, self.text_tokens, self._findings)
        if small is not None:
            self._judge_small_cache(report, trials[-1])
        return report

    def _judge_small_cache(self, report: TuningReport, small: Trial) -> None:
        before = report.best.candidate.cache.type_k
        verdict = compare(small, report.best)
        report.small_cache = Finding("--cache-type-k, -v", before, _SMALL_CACHE, verdict)
        if self.is_lossy and verdict.is_better:
            report.best = small

    def _note(self, option: str, before: object, after: object, verdict: Verdict) -> None:
        self._findings.append(Finding(option, str(before), str(after), verdict))


def as_tuning(report: TuningReport, day: str) -> Tuning:
    """What is to be kept: only what is other than without tuning."""
    usual, best = report.usual.candidate, report.best.candidate
    threads_differ = (usual.threads, usual.threads_batch) != (best.threads, best.threads_batch)
    cache_differs = usual.cache != best.cache
    types_differ = usual.cache.ggml_types != best.cache.ggml_types
    return Tuning(
        best.threads if threads_differ else None,
        best.threads_batch if threads_differ else None,
        best.cache.flash_attention if cache_differs else None,
        best.cache.type_k if types_differ else None,
        best.cache.type_v if types_differ else None,
        report.usual.plain,
        report.best.plain,
        report.usual.drafted,
        report.best.drafted,
        day,
    )


def thread_counts(physical: int, logical: int) -> list[int]:
    """The numbers of threads worth measuring, from a quarter of the cores on: each up to eight,
    then some, the physical cores and all of them with their hyper-threads."""
    some = {*range(1, 9), 10, 12, 16, 20, 24, 32, 48, 64, 96, 128}
    found = {count for count in some if physical // 4 <= count < logical}
    return sorted({*found, physical, logical})
