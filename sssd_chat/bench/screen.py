"""What the screen costs: how fast typing echoes and how much processor time drawing takes.

The program that is measured runs in a pseudo-terminal, and all is seen from the other side of it:
bytes that go in, and bytes that come out.
"""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import psutil

from sssd_chat.errors import UserError

LETTERS = "αβγδεζηθικλμνξοπρστυφχψωбвгджзийклмнптфцчшщъыьэюяљњћџђєѕіїў"
"""What is typed: letters that no text on the screen has, each of them once."""

_COLUMNS, _LINES = 120, 40
_KEY_SECONDS = 0.11
"""From one key to the next, as a quick typist has it."""
_LONGEST_WAIT = 60.0
_STEP_SECONDS = 0.005
_QUIET_SECONDS = 0.5


@dataclass(slots=True)
class ScreenCost:
    """What was measured while text streamed."""

    echo_seconds: list[float] = field(default_factory=list)
    """From each key press to the letter on the screen."""
    seconds: float = 0.0
    """How long text streamed."""
    processor_seconds: float = 0.0
    """What the program used meanwhile."""

    def echo(self, share: float) -> float:
        """The time within which this share of the letters came."""
        ordered = sorted(self.echo_seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    @property
    def load(self) -> float:
        """Seconds of a processor for each second of text."""
        return self.processor_seconds / self.seconds


class Terminal:
    """A program in a pseudo-terminal of its own."""

    def __init__(self, command: Sequence[str]) -> None:
        """Starts it. Raises UserError on a system without pseudo-terminals."""
        try:
            import fcntl
            import pty
            import struct
            import termios
        except ImportError:
            message = "This measurement needs a pseudo-terminal, which Windows lacks."
            raise UserError(message) from None
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", _LINES, _COLUMNS, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
        )
        os.close(slave)

    def type(self, text: str) -> None:
        """Presses keys."""
        os.write(self._master, text.encode())

    def read(self, seconds: float) -> bytes:
        """What comes out within this time, as soon as there is something; nothing at its end."""
        if not select.select([self._master], [], [], seconds)[0]:
            return b""
        try:
            return os.read(self._master, 1 << 16)
        except OSError:
            # Linux says so when the program has ended.
            time.sleep(seconds)
            return b""

    def wait_for(self, text: str) -> None:
        """Reads until the text has come. Raises UserError when it does not."""
        wanted, seen = text.encode(), b""
        end = time.perf_counter() + _LONGEST_WAIT
        while wanted not in seen:
            if time.perf_counter() > end or self.process.poll() is not None:
                raise UserError(f"The chat that is measured did not come to {text!r}.")
            seen = seen[-len(wanted) :] + self.read(_STEP_SECONDS)

    def settle(self) -> None:
        """Reads until nothing more comes for a while."""
        while self.read(_QUIET_SECONDS):
            pass

    def processor_seconds(self) -> float:
        """What the program used so far."""
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)

    def close(self) -> None:
        """Ends the program."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)


def measure_stream(terminal: Terminal, end: str, *, typing: bool) -> ScreenCost:
    """Follows a text that streams until `end` is on the screen, and types meanwhile."""
    cost = ScreenCost()
    wanted, seen = end.encode(), b""
    letters = iter(LETTERS if typing else "")
    began, used = time.perf_counter(), terminal.processor_seconds()
    next_key = began + _KEY_SECONDS
    while wanted not in seen:
        now = time.perf_counter()
        if now > began + _LONGEST_WAIT:
            raise UserError("The text did not come to its end.")
        if now >= next_key and (letter := next(letters, "")):
            came = _echo(terminal, letter)
            cost.echo_seconds.append(time.perf_counter() - now)
            next_key = now + _KEY_SECONDS
        else:
            came = terminal.read(_STEP_SECONDS)
        seen = seen[-len(wanted) :] + came
    cost.seconds = time.perf_counter() - began
    cost.processor_seconds = terminal.processor_seconds() - used
    return cost


def _echo(terminal: Terminal, letter: str) -> bytes:
    """Types a letter and waits until it is on the screen; all that came."""
    wanted, seen = letter.encode(), b""
    end = time.perf_counter() + _LONGEST_WAIT
    terminal.type(letter)
    while wanted not in seen:
        if time.perf_counter() > end:
            raise UserError(f"{letter} was typed and never shown.")
        seen += terminal.read(_STEP_SECONDS)
    return seen
