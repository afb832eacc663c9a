"""What questions and answers have in common."""

from __future__ import annotations

from textual.containers import Vertical


class Turn(Vertical):
    """One side's say in the conversation."""
