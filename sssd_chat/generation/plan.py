"""How large the drafts of one step may be."""

from __future__ import annotations

from collections.abc import Sequence

from sssd_chat.drafting import ROOT, DraftTree
from sssd_chat.drafting.size import best_size

_WORTH_DRAFTING = 1.03
"""A draft must promise this much more speed than a plain step: costs are measured, so the best of
many looks a little better than it is."""


def plan_drafts(
    drafts: Sequence[DraftTree], seconds: Sequence[float], max_leaves: int
) -> list[DraftTree]:
    """Cuts the drafts of one batch to the sizes that pay together.

    `seconds[n]` is the time of a batch of n tokens. The nodes of all drafts compete by their
    probabilities; the number of nodes maximizes the expected tokens of the batch over its time,
    or is 0 where that is hardly better than a plain step. No tree keeps more than `max_leaves`
    leaves.
    """
    drafts = [_limit_leaves(draft, max_leaves) for draft in drafts]
    roots = len(drafts)
    ranked = sorted(
        (-probability, number)
        for number, draft in enumerate(drafts)
        for probability in draft.probabilities
    )
    if not ranked:
        return drafts
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


def _limit_leaves(draft: DraftTree, max_leaves: int) -> DraftTree:
    if len(draft) <= max_leaves:
        return draft
    leaves = 0
    has_child = [False] * len(draft)
    for node, parent in enumerate(draft.parents):
        if parent == ROOT or has_child[parent]:
            leaves += 1
        if parent != ROOT:
            has_child[parent] = True
        if leaves > max_leaves:
            return draft.first(node)
    return draft
