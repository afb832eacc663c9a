"""What a drafter asks of a place that candidate tokens come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol


class Match(NamedTuple):
    """The children of a cursor by one match length: candidates and the evidence for them."""

    length: int
    """How many tokens of the context were matched, counted back from its end."""
    total: int
    """How often anything followed that match; the sum of `counts`."""
    counts: Mapping[int, int]
    """Candidate token to how often it followed that match (or how often in a sample of its
    places), the most recently seen candidate last where the source knows."""


class Cursor(Protocol):
    """A context, seen from a source. It never changes; advancing makes another."""

    def matches(self) -> list[Match]:
        """The children, grouped by the match that they followed: shortest match first, each one
        token longer than the one before or more. Empty when the source knows nothing."""

    def advance(self, token: int) -> Cursor:
        """The cursor of the context with `token` added."""


class Source(Protocol):
    """A store of text that can be asked what followed the end of a context."""

    name: str
    """Shown on screen as the origin of a node; one of a few short constant words."""

    def cursor(self, context: Sequence[int]) -> Cursor:
        """The cursor at the end of `context`. Reads only as much of its end as it can match, so
        the cost does not grow with the context."""
