"""What the target remembers of one text in its KV cache."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(slots=True)
class Branch:
    """A borrowed sequence id."""

    id: int
    owned: int
    """How many tokens of the committed text the id owns."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A recurrent state as it was when the text was shorter."""

    length: int
    """Tokens of the text then."""
    state: np.ndarray


@dataclass(slots=True)
class TargetSequence:
    """One text in the KV cache."""

    id: int
    tokens: list[int] = field(default_factory=list)
    """The committed tokens: those whose KV entries exist."""
    root: int = -1
    """Token of the last verified batch's root, not committed yet."""
    parents: list[int] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    """Parents and tokens of the last verified tree."""
    first_output: int = 0
    """Index of the root in the last batch."""
    ids: list[list[int]] = field(default_factory=list)
    """Sequence ids of each node of the last verified tree."""
    branches: list[Branch] = field(default_factory=list)
    used: list[Branch] = field(default_factory=list)
    """Branches of the last verified tree."""
    ahead_from: int | None = None
    """Where the chunks begin that were read of a prompt that is not complete, by
    `Target.read_ahead` or by a `Target.prefill` that was stopped; None when there are none."""
    can_go_back: int = 0
    """Tokens that a recurrent state can take back now."""
    checkpoint: Checkpoint | None = None
    """Where a recurrent state can go back to besides."""
