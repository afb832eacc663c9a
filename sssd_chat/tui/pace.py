"""How often to draw: the engine and the screen share the processor."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, thread_time

_SHARE = 0.25
"""Of the time that this thread may work, where the engine leaves a processor to it."""
_SHARE_OF_SCARCE = 0.03
"""Where it does not: what the screen takes is missing from the engine."""
_LONGEST_PAUSE = 0.4
"""Seconds."""
_LONGEST_WHILE_TYPING = 0.5
_TYPING_SECONDS = 0.5
"""From the last key on. Who types looks at the prompt, and a key that comes during a draw waits."""
_KEY_SECONDS = 0.04
"""A key shows on the screen within this time, if nothing else is drawn."""


class Pace:
    """Says when to draw again, so that this thread works little of the time, but the screen never
    stands still for long."""

    def __init__(
        self,
        clock: Callable[[], float] = perf_counter,
        worked: Callable[[], float] = thread_time,
    ) -> None:
        """The arguments say the time, and how long this thread has worked, in seconds."""
        self._clock = clock
        self._work = worked
        self._drawn_at = clock()
        self._worked = worked()
        self._typed_at = float("-inf")
        self.is_scarce = True
        """Whether the engine uses all processors."""

    def typed(self) -> None:
        """A key was pressed: what it does to the screen comes first."""
        self._typed_at = self._clock()

    def due(self) -> bool:
        """Whether to draw now. If so, the pause until the next time begins."""
        now = self._clock()
        pause = now - self._drawn_at
        since_key = now - self._typed_at
        is_typing = since_key < _TYPING_SECONDS
        longest = _LONGEST_WHILE_TYPING if is_typing else _LONGEST_PAUSE
        share = _SHARE_OF_SCARCE if is_typing or self.is_scarce else _SHARE
        work = self._work() - self._worked
        if pause < longest and (since_key < _KEY_SECONDS or work > share * pause):
            return False
        self._drawn_at += pause
        self._worked += work
        return True
