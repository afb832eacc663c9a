"""A short measurement of what a step costs, before the first answer."""

from __future__ import annotations

import time

from sssd_chat.drafting import ROOT, DraftTree
from sssd_chat.generation.cost import StepCost
from sssd_chat.generation.target import State, VerifyingTarget

PROBE_SECONDS = 0.8
"""Time that the measurements of a probe may take in all."""

_SIZES = (1, 4, 2, 16, 8, 3, 32, 64, 6, 12, 24, 48, 96, 129)
"""In the order of their worth: the steps of the staircase first."""
_ENOUGH = 5
"""Sizes measured so often are not probed again; a single measurement may be a bad one."""
_SLOW = 0.03
"""Seconds; a step this long is measured once, or the time is gone before the curve is seen."""
_REPEATS = 3
_ROOM = len(_SIZES) * _REPEATS + 2
"""Each measurement leaves its root in the cache until the probe is over."""


def probe(target: VerifyingTarget[State], cost: StepCost, seconds: float = PROBE_SECONDS) -> int:
    """Measures the batch sizes that are known least, as many as the time allows; returns how
    many. The cache is left as it was."""
    wanted = [
        size
        for size in _SIZES
        if size <= min(cost.largest, target.max_draft + 1)
        and size + _ROOM <= target.context_length
        and cost.measurements(size) < _ENOUGH
    ]
    wanted.sort(key=cost.measurements)
    if not wanted:
        return 0
    sequence = target.open_sequence()
    measured = 0
    try:
        # The first decode wakes the weights up and is not counted.
        target.prefill(sequence, [0])
        ends = time.perf_counter() + seconds
        for size in wanted:
            best = _measure(target, sequence, size, cost.seconds(1)[size], ends)
            if best is not None:
                cost.observe(size, 1, best)
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
