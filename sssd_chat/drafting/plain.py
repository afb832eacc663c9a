"""Decoding without drafts, as a drafter."""

from __future__ import annotations

from collections.abc import Sequence

from sssd_chat.drafting.drafter import ObservedStep
from sssd_chat.drafting.tree import DraftTree


class PlainDrafter:
    """Never drafts."""

    best_tokens_wanted = 0

    def begin(self, tokens: Sequence[int]) -> None:
        """See Drafter."""

    def draft(
        self,
        budget: int,
        floor: float = 0.0,
        *,
        branches: bool = True,
        depth: int | None = None,
    ) -> DraftTree:
        """An empty tree."""
        return DraftTree()

    def observe(self, step: ObservedStep) -> None:
        """See Drafter."""
