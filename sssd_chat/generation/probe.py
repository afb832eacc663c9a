"""A short measurement of what a step costs, before the first answer."""

from __future__ import annotations

import time

from sssd_chat.drafting import ROOT, DraftTree
from sssd_chat.generation.cost import StepCost
from sssd_chat.generation.target import State, VerifyingTarget

PROBE_SECONDS = 0.8
"""Time that a probe may take in all."""

_SIZES = (1, 4, 16, 8, 2, 32, 64, 3, 6, 12, 24, 48, 96, 129)
"""In the order of their worth: the steps of the staircase first."""
_TEXT_TOKENS = 16
_REPEATS = 3
_SLOW = 0.03
"""Seconds; a step this long is measured once, or the time is gone before the curve is seen."""


def probe(target: VerifyingTarget[State], cost: StepCost, seconds: float = PROBE_SECONDS) -> int:
    """Measures batch sizes that `cost` has no sample of, as many as the time allows; returns how
    many. The cache is left as it was."""
    wanted = [
        size
        for size in _SIZES
        if size not in cost.measured_sizes() and size <= min(cost.largest, target.max_draft + 1)
    ]
    if not wanted or target.context_length < _TEXT_TOKENS + max(wanted):
        return 0
    ends = time.perf_counter() + seconds
    sequence = target.open_sequence()
    measured = 0
    try:
        target.prefill(sequence, [0] * _TEXT_TOKENS)
        # The first decode warms caches up and is not counted.
        target.verify([(sequence, 0, DraftTree())])
        target.commit(sequence, [])
        for size in wanted:
            best = _measure(target, sequence, size, cost.seconds(_TEXT_TOKENS)[size], ends)
            if best is not None:
                cost.observe(size, _TEXT_TOKENS, best)
                measured += 1
    finally:
        target.close_sequence(sequence)
    return measured


def _measure(
    target: VerifyingTarget[State], sequence: State, size: int, expected: float, ends: float
) -> float | None:
    """The fastest of a few runs, one if they are slow; None when there is no time for any."""
    chain = DraftTree()
    for depth in range(size - 1):
        chain.add(0, depth - 1 if depth else ROOT, 1.0, "probe")
    best = None
    for _ in range(_REPEATS):
        if time.perf_counter() + expected > ends:
            break
        seconds = target.verify([(sequence, 0, chain)])
        target.commit(sequence, [])
        best = expected = seconds if best is None else min(best, seconds)
        if best > _SLOW:
            break
    return best
