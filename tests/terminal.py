"""The real program in a pseudo-terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Sequence

_ESCAPE = re.compile(
    rb"\x1b(\[[0-9;?<>=]*[ -/]*[@-~]|[()][A-Z0-9]|\][^\x07\x1b]*(\x07|\x1b\\)|[=>78])"
)


class Terminal:
    """A program in a terminal of its own; what it writes is collected without escape codes."""

    def __init__(self, words: Sequence[str], columns: int = 100, rows: int = 30) -> None:
        import pty

        self.pid, self._handle = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm-256color"
            os.execv(sys.executable, [sys.executable, "-m", "sssd_chat", *words])
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self._handle, termios.TIOCSWINSZ, size)
        self.raw = b""

    @property
    def text(self) -> str:
        """All that was written, without escape codes."""
        return _ESCAPE.sub(b"", self.raw).decode("utf-8", "replace")

    def type(self, keys: str) -> None:
        """Presses keys."""
        os.write(self._handle, keys.encode())

    def wait_for(self, text: str, seconds: float = 30.0) -> None:
        """Waits until the program has written `text`, since the last wait."""
        start = len(self.raw)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if not self._read(0.1):
                break
            if text in _ESCAPE.sub(b"", self.raw[start:]).decode("utf-8", "replace"):
                return
        raise AssertionError(f"{text!r} did not appear; the end was {self.text[-2000:]!r}")

    def _read(self, seconds: float) -> bool:
        """Takes what is there; False when the program has ended."""
        ready, _, _ = select.select([self._handle], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self._handle, 65536)
        except OSError:
            return False
        self.raw += data
        return bool(data)

    def exit_code(self, seconds: float = 20.0) -> int:
        """Waits for the end of the program."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                return os.waitstatus_to_exitcode(status)
        raise AssertionError("the program did not end")

    def close(self) -> None:
        """Ends the program if it still runs."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._handle)
