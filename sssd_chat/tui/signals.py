"""What ends the program from outside."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType

SIGNALLED = 128
"""Exit codes from here on say which signal ended the program."""
HUNG_UP = 1
"""The number of SIGHUP, also where there is no such signal."""
_NAMES = ("SIGTERM", "SIGHUP")


@contextlib.contextmanager
def told_to_leave(leave: Callable[[int], None]) -> Iterator[None]:
    """For the time of the block, calls `leave` with the exit code when the program is told to end
    or its terminal is closed, even while the event loop stands still."""

    def handle(number: int, _frame: FrameType | None) -> None:
        leave(SIGNALLED + number)

    before = {}
    for name in _NAMES:
        number = getattr(signal, name, None)
        # Not on every system, and only in the main thread.
        if number is not None:
            with contextlib.suppress(ValueError):
                before[number] = signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
