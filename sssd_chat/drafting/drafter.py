"""What the decoding loop asks of a drafter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sssd_chat.drafting.tree import DraftTree


@dataclass(slots=True)
class ObservedStep:
    """What one step showed about the target, for the drafter to learn from."""

    tree: DraftTree
    """The draft that was verified (possibly empty), as sent to the target."""
    path: list[int]
    """Indices of the accepted nodes of `tree`, root's child first."""
    emitted: list[int]
    """Tokens that joined the text: those of `path`, then the one the target added itself. Shorter
    when a stop cut the step."""
    best_tokens: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    """(node index or ROOT, the target's best next tokens there, best first), for some of the
    verified nodes: always those of the path, refused ones as far as time allows."""


class Drafter(Protocol):
    """Proposes continuations of one sequence. It holds no model, so it runs on recordings too."""

    best_tokens_wanted: int
    """How many of the target's best tokens it wants to see at a verified node; 0 for none."""

    def begin(self, tokens: Sequence[int]) -> None:
        """Sets the text to `tokens`, the prompt of a new turn in the same conversation. Costs
        time only for what differs from the text so far."""

    def draft(
        self,
        budget: int,
        floor: float = 0.0,
        *,
        branches: bool = True,
        depth: int | None = None,
    ) -> DraftTree:
        """The best tree of at most `budget` nodes, nodes under the probability `floor` left out;
        without `branches` one path. No path is longer than `depth`; None for any length. The root
        is the last token of the text."""

    def observe(self, step: ObservedStep) -> None:
        """Learns from a step; `step.emitted` joins the text."""
