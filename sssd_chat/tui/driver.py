"""The way to the terminal, made to outlive it: a window may be closed without a signal, and one
that shows nothing any more must not keep the program from ending."""

from __future__ import annotations

import contextlib
import io
import os
import select
import sys
import time
from threading import Thread
from typing import TYPE_CHECKING

from textual.driver import Driver
from textual.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import App

_STANDARD = (0, 1, 2)
"""Input, output and talk."""
_LOOK_MILLISECONDS = 100
_PATIENCE_SECONDS = 1.0
"""How long a terminal that takes nothing is waited for when the program has to end."""


class TerminalLost(Message):
    """Nobody is at the other end of the terminal any more."""


if sys.platform == "win32":

    def enduring(driver: type[Driver]) -> type[Driver]:
        """Windows ends a program whose window is closed."""
        return driver

    def hurry(driver: Driver | None) -> None:
        """Nothing is waited for."""

else:
    from textual.drivers.linux_driver import LinuxDriver

    class _Enduring(io.RawIOBase):
        """A file to write to that may be gone: what is written then goes nowhere. An error would
        end the thread that writes, and the app would wait for it for ever."""

        def __init__(self, number: int, failed: Callable[[], None]) -> None:
            self._number = _unblocked(number)
            self._failed = failed
            self._poller = select.poll()
            self._poller.register(self._number, select.POLLOUT)
            self.until = float("inf")
            """The time, as `time.monotonic` tells it, after which nothing is waited for."""

        def writable(self) -> bool:
            """Always."""
            return True

        def fileno(self) -> int:
            """Where it is written to."""
            return self._number

        def write(self, data: object, /) -> int:
            """Writes the data, or drops it."""
            view = memoryview(data)  # type: ignore[arg-type]
            done = 0
            while done < view.nbytes and self._is_ready():
                try:
                    done += os.write(self._number, view[done:])
                except BlockingIOError:
                    continue
                except OSError:
                    self._failed()
                    break
            return view.nbytes

        def _is_ready(self) -> bool:
            while time.monotonic() < self.until:
                if self._poller.poll(_LOOK_MILLISECONDS):
                    return True
            return bool(self._poller.poll(0))

    class _EnduringDriver(LinuxDriver):
        """Tells the app when nobody is at the other end any more. Textual's own driver would read
        the end of the input again and again, and stand still with its output full."""

        def __init__(
            self,
            app: App[object],
            *,
            debug: bool = False,
            mouse: bool = True,
            size: tuple[int, int] | None = None,
        ) -> None:
            super().__init__(app, debug=debug, mouse=mouse, size=size)
            # Not `isatty`, which says no when the other end is closed already.
            device = os.fstat(self.fileno).st_rdev
            self._ours = [n for n in _STANDARD if os.fstat(n).st_rdev == device]
            self._out: _Enduring | None = None
            if self._file is not None:
                self._out = _Enduring(self._file.fileno(), self._lost)
                buffered = io.BufferedWriter(self._out)
                self._file = io.TextIOWrapper(buffered, encoding="utf-8", errors="replace")
            self._watches = False

        def start_application_mode(self) -> None:
            """Begins to read, and to look whether the terminal is still there."""
            super().start_application_mode()  # type: ignore[no-untyped-call]
            if not self._watches:
                self._watches = True
                Thread(target=self._watch, name="terminal-watch", daemon=True).start()

        def run_input_thread(self) -> None:
            """Reads until the app ends, or until nothing can be read any more."""
            try:
                super().run_input_thread()
            except OSError:
                self._lost()

        def hurry(self) -> None:
            """From now on a terminal that takes nothing is not waited for."""
            if self._out is not None:
                self._out.until = min(self._out.until, time.monotonic() + _PATIENCE_SECONDS)

        def _watch(self) -> None:
            """Waits, without any work, until the other end is closed."""
            poller = select.poll()
            poller.register(self.fileno, 0)
            poller.poll()
            self._lost()

        def _lost(self) -> None:
            """Puts something harmless in place of the terminal, and tells the app."""
            gone, self._ours = self._ours, []
            if not gone:
                return
            # From a pipe into which nobody writes, nothing is ever read; nor does reading wait.
            silent, self._held = os.pipe()
            os.set_blocking(silent, False)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for number in gone:
                os.dup2(nowhere if number else silent, number)
            self.hurry()
            self._app.post_message(TerminalLost())

    def enduring(driver: type[Driver]) -> type[Driver]:
        """The driver in place of Textual's `driver`; another one that somebody chose stays."""
        return _EnduringDriver if driver is LinuxDriver else driver

    def hurry(driver: Driver | None) -> None:
        """Does not let the program wait for its terminal any more."""
        if isinstance(driver, _EnduringDriver):
            driver.hurry()

    def _unblocked(number: int) -> int:
        """The terminal opened once more, so that writing to it waits no longer than wanted; what
        other programs share with this one stays as it is."""
        with contextlib.suppress(OSError):
            return os.open(os.ttyname(number), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
        return number
