"""How much of a draft is accepted, as measured: what a step cost is worth.

One number for a curve of step costs needs to know what drafts hold. The classes below come from a
replay of 175 recorded answers (summaries, GSM8K, HumanEval, MT-bench, Italian;
`bench/acceptance.py` makes the table): a tenth of all tokens each, from steps that promise next to
nothing to copies. Each class chooses its own size, as the drafter does, so a machine
is not judged by the average.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sssd_chat.drafting.size import interpolated, padded_sizes

SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Tokens of a step, root included."""


@dataclass(frozen=True, slots=True)
class StepClass:
    """Steps whose drafts promise alike."""

    share: float
    """Of all tokens."""
    emitted: tuple[float, ...]
    """E(n): mean tokens that a step emits, for each of SIZES."""


CLASSES = (
    StepClass(0.1, (1.00, 1.03, 1.04, 1.05, 1.06, 1.07, 1.08, 1.09, 1.10, 1.10, 1.11, 1.11)),
    StepClass(0.1, (1.00, 1.17, 1.26, 1.32, 1.42, 1.48, 1.58, 1.65, 1.74, 1.80, 1.87, 1.91)),
    StepClass(0.1, (1.00, 1.21, 1.35, 1.44, 1.56, 1.64, 1.75, 1.83, 1.94, 2.01, 2.11, 2.16)),
    StepClass(0.1, (1.00, 1.27, 1.43, 1.53, 1.69, 1.79, 1.93, 2.03, 2.16, 2.23, 2.33, 2.40)),
    StepClass(0.1, (1.00, 1.37, 1.57, 1.70, 1.89, 2.02, 2.21, 2.34, 2.51, 2.61, 2.74, 2.82)),
    StepClass(0.1, (1.00, 1.46, 1.69, 1.84, 2.03, 2.15, 2.35, 2.48, 2.65, 2.77, 2.92, 3.03)),
    StepClass(0.1, (1.00, 1.55, 1.88, 2.08, 2.35, 2.52, 2.74, 2.90, 3.13, 3.28, 3.49, 3.62)),
    StepClass(0.1, (1.00, 1.65, 2.08, 2.34, 2.66, 2.88, 3.16, 3.31, 3.52, 3.71, 3.94, 4.09)),
    StepClass(0.1, (1.00, 1.75, 2.31, 2.75, 3.37, 3.78, 4.29, 4.58, 4.94, 5.19, 5.55, 5.82)),
    StepClass(0.1, (1.00, 1.92, 2.78, 3.62, 5.31, 6.95, 10.13, 13.16, 18.73, 23.81, 32.85, 40.14)),
)
"""From the least to the most that is promised."""


def tokens_per_second(seconds: dict[int, float], can_draft: bool = True) -> float:
    """Expected speed of writing, where a batch of n tokens takes `seconds[n]`; 1 must be known,
    other sizes are read off lines between those that are. Without drafts, every step is one
    token."""
    if not can_draft:
        return 1 / seconds[1]
    largest = max(seconds)
    cost = interpolated(seconds, largest)
    padded = padded_sizes(cost)
    a_token = 0.0
    for one in CLASSES:
        emitted = _on_lines(one.emitted, largest)
        a_token += one.share * min(
            cost[padded[size]] / emitted[size] for size in range(1, largest + 1)
        )
    return 1 / a_token


def _on_lines(emitted: Sequence[float], largest: int) -> list[float]:
    return interpolated(dict(zip(SIZES, emitted, strict=True)), largest)
