"""The chunks in which a prompt is read.

Between chunks reading can be stopped. Their sizes depend on nothing but the place where reading
began: kernels round by the size of the batch, and the same prompt must give the same logits,
whatever the clock says.
"""

from __future__ import annotations

from dataclasses import dataclass

_SMALL = 32
_SMALL_CHUNKS = 8


@dataclass(frozen=True, slots=True)
class Chunks:
    """Sizes and borders; an offset counts tokens from the place where reading began."""

    size: int
    """Tokens of a chunk; larger ones are faster."""
    begins_small: bool
    """Whether the first chunks are small. What is typed is seldom longer than those, so that
    little of it is left to read when it is sent."""

    def at(self, offset: int) -> int:
        """Tokens of the chunk that begins at an offset."""
        return _SMALL if offset < self._small_part else self.size

    def border(self, offset: int) -> int:
        """Where the chunk begins that holds the token at an offset."""
        small = self._small_part
        if offset < small:
            return offset // _SMALL * _SMALL
        return small + (offset - small) // self.size * self.size

    @property
    def _small_part(self) -> int:
        return _SMALL * _SMALL_CHUNKS if self.begins_small else 0
