"""What commands share in talking to a person: the question, interruption, status, figures."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType

from sssd_chat.text import columns


def read_question(words: Sequence[str], parser: argparse.ArgumentParser) -> str:
    """The question from the arguments and standard input. Ends the program (wrong usage) when
    there is none."""
    parts = [" ".join(words)] if words else []
    if sys.stdin is not None and not sys.stdin.isatty():
        parts.append(sys.stdin.buffer.read().decode("utf-8", "replace").rstrip("\n"))
    question = "\n\n".join(part for part in parts if part.strip())
    if not question:
        parser.error("the prompt is empty: give it as an argument or on standard input")
    return question


class Interrupt:
    """Turns Ctrl+C into a flag, so that what was written is kept; a second one ends at once."""

    def __init__(self) -> None:
        self.came = False
        self.event = threading.Event()
        """Set when it came, for what cannot ask for it."""

    def __enter__(self) -> Interrupt:
        self._before = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self.came:
            raise KeyboardInterrupt
        self.came = True
        self.event.set()


def say(sentence: str) -> None:
    """Tells the person something on stderr, beside the data on stdout."""
    print(f"sssd-chat: {sentence}", file=sys.stderr)


def show_status(text: str) -> None:
    """Writes one line on stderr that the next one overwrites; an empty one clears it."""
    sys.stderr.write(f"\r\x1b[K{text}")
    sys.stderr.flush()


def figure(value: float | None, form: str) -> str:
    """A number, or – while it is unknown."""
    return "–" if value is None else format(value, form)


def size(count: int) -> str:
    """A number of bytes."""
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def duration(seconds: float) -> str:
    """A time, or how much of it was saved."""
    if seconds < 120:
        # Less than nothing is possible, but no zero has a sign.
        return f"{round(seconds, 1) + 0.0:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints aligned columns: the first one to the left, numbers to the right."""
    lines = [list(head), *map(list, rows)]
    widths = [max(columns(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        # Not ljust and rjust, which count a wide character as one column.
        gaps = [" " * (width - columns(cell)) for cell, width in zip(line, widths, strict=True)]
        rest = [gap + cell for gap, cell in zip(gaps[1:], line[1:], strict=True)]
        print("  ".join([line[0] + gaps[0], *rest]).rstrip())
