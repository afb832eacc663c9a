"""How far a piece of work is, told to whoever looks at it."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with what is done, and how much there is."""


def nobody(_done: int, _total: int) -> None:
    """Told the progress where nobody looks at it."""
