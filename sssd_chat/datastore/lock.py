"""Who may write: one process at a time, which can be asked to step back."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from filelock import FileLock, Timeout

_STALE_SECONDS = 60.0
_POLL_SECONDS = 0.1


class WriterLock:
    """A file lock that the system frees when its process dies.

    A process that waits for it leaves a request beside it; the holder looks for that now and then
    (`is_wanted`) and steps back.
    """

    def __init__(self, folder: Path) -> None:
        self._lock = FileLock(folder / "lock", timeout=0, mode=0o600, thread_local=False)
        self._request = folder / "lock-wanted"

    def acquire(self) -> bool:
        """Takes the lock if it is free and nobody waits for it. Raises OSError when the folder
        cannot be written to."""
        if self.is_wanted():
            return False
        return self._try()

    def try_acquire(self) -> bool:
        """The same, but a folder that cannot be written to is only a lock that is not to be had."""
        try:
            return self.acquire()
        except OSError:
            return False

    def wait(self, seconds: float) -> bool:
        """Takes the lock, asking its holder to step back. False when `seconds` were not enough.
        Raises OSError."""
        end = time.monotonic() + seconds
        try:
            while not self._try():
                if time.monotonic() > end:
                    return False
                self._request.touch(mode=0o600)
                time.sleep(_POLL_SECONDS)
            return True
        finally:
            with contextlib.suppress(OSError):
                self._request.unlink(missing_ok=True)

    def is_wanted(self) -> bool:
        """Whether another process waits for it."""
        try:
            # A clock that was set back makes it seem to be from the future.
            return abs(time.time() - self._request.stat().st_mtime) < _STALE_SECONDS
        except OSError:
            return False

    def release(self) -> None:
        """Gives it back, if it is held."""
        self._lock.release()

    def _try(self) -> bool:
        try:
            self._lock.acquire()
        except Timeout:
            return False
        return True
