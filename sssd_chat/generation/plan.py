"""How large the drafts of one step may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sssd_chat.drafting import DraftTree
from sssd_chat.drafting.size import best_size

_WORTH_DRAFTING = 1.03
"""A draft must promise this much more speed than a plain step: costs are measured, so the best of
many looks a little better than it is."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a batch can hold."""

    branches: int
    """Most leaves of all trees together, beyond the first of each."""
    nodes: int
    """Most nodes of all trees together."""


def plan_drafts(
    drafts: Sequence[DraftTree], seconds: Sequence[float], limits: Limits
) -> list[DraftTree]:
    """Cuts the drafts of one batch to the sizes that pay together.

    `seconds[n]` is the time of a batch of n tokens. The nodes of all drafts compete by their
    probabilities, and for the branches; the number of nodes maximizes the expected tokens of the
    batch over its time, or is 0 where that is hardly better than a plain step.
    """
    roots = len(drafts)
    ranked = _ranked(drafts, limits)
    if not ranked:
        return [draft.first(0) for draft in drafts]
    # With k roots E is k + Σ p: E / k has its maximum at the same size and starts at 1.
    gains = [-probability / roots for probability, _ in ranked]
    from_here = seconds[roots - 1 :]
    size = best_size(gains, from_here)
    promised = (1.0 + sum(gains[:size])) / min(from_here[size + 1 :])
    if promised < _WORTH_DRAFTING / from_here[1]:
        size = 0
    sizes = [0] * roots
    for _, number in ranked[:size]:
        sizes[number] += 1
    return [draft.first(size) for draft, size in zip(drafts, sizes, strict=True)]


def _ranked(drafts: Sequence[DraftTree], limits: Limits) -> list[tuple[float, int]]:
    """Minus the probability and the number of the draft of each node that may be sent, the best
    first. A draft that finds no branch left ends there."""
    ranked = sorted(
        (-probability, number)
        for number, draft in enumerate(drafts)
        for probability in draft.probabilities
    )
    opens = [_opened_branches(draft) for draft in drafts]
    if sum(map(sum, opens)) <= limits.branches:
        return ranked[: limits.nodes]
    chosen: list[tuple[float, int]] = []
    taken = [0] * len(drafts)
    is_over = [False] * len(drafts)
    branches = limits.branches
    for rank in ranked:
        if len(chosen) >= limits.nodes:
            break
        number = rank[1]
        if is_over[number]:
            continue
        branch = opens[number][taken[number]]
        if branch > branches:
            is_over[number] = True
            continue
        branches -= branch
        taken[number] += 1
        chosen.append(rank)
    return chosen


def _opened_branches(draft: DraftTree) -> list[bool]:
    """For each node, whether the tree has a leaf more with it; the first leaf does not count."""
    has_child = [False] * (len(draft) + 1)
    opened = []
    for parent in draft.parents:
        # The root is the last entry, as index -1.
        opened.append(has_child[parent])
        has_child[parent] = True
    return opened
