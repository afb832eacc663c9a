"""What a drafter asks of a place that candidate tokens come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Match:
    """The children of a cursor by one match length: candidates and the evidence for them."""

    __slots__ = ("counts", "length", "total")

    def __init__(self, length: int, total: int, counts: dict[int, int]) -> None:
        """`counts` is kept, not copied."""
        self.length = length
        """How many tokens of the context were matched, counted back from its end."""
        self.total = total
        """How often anything followed that match; the sum of `counts`."""
        self.counts = counts
        """Candidate token to how often it followed that match (or how often in a sample of its
        places), the most recently seen candidate last where the source knows. Only the source
        changes it."""


class Cursor(Protocol):
    """A context, seen from a source. It never changes; advancing makes another."""

    def matches(self) -> list[Match]:
        """The children, grouped by the match that they followed, longest match first.

        A length that is left out has the same followers as the next longer one that is listed.
        Empty when the source knows nothing.
        """

    def advance(self, token: int) -> Cursor:
        """The cursor of the context with `token` added."""


class Source(Protocol):
    """A store of text that can be asked what followed the end of a context."""

    name: str
    """Shown on screen as the origin of a node; one of a few short constant words."""

    def cursor(self, context: Sequence[int]) -> Cursor:
        """The cursor at the end of `context`. Reads only as much of its end as it can match, so
        the cost does not grow with the context."""
