"""How often to draw: the engine and the screen share the processor."""

from __future__ import annotations

from time import perf_counter, thread_time

_DRAWING_SHARE = 0.05
"""The engine may use all processors: what the screen takes is missing from it."""
_LONGEST_PAUSE = 0.25
"""Seconds."""


class Pace:
    """Says when to draw again, so that this thread works little of the time, but the
    screen never stands still for long."""

    def __init__(self) -> None:
        self._drawn_at = perf_counter()
        self._worked = thread_time()

    def due(self) -> bool:
        """Whether to draw now. If so, the pause until the next time begins."""
        pause = perf_counter() - self._drawn_at
        work = thread_time() - self._worked
        if work > _DRAWING_SHARE * pause and pause < _LONGEST_PAUSE:
            return False
        self._drawn_at += pause
        self._worked += work
        return True
