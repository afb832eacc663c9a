"""What commands share in talking to a person: the question, interruption, status, figures."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType


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


def show_status(text: str) -> None:
    """Writes one line on stderr that the next one overwrites; an empty one clears it."""
    sys.stderr.write(f"\r\x1b[K{text}")
    sys.stderr.flush()


def figure(value: float | None, form: str) -> str:
    """A number, or – while it is unknown."""
    return "–" if value is None else format(value, form)


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints aligned columns: the first one to the left, numbers to the right."""
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        first = line[0].ljust(widths[0])
        rest = [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        print("  ".join([first, *rest]).rstrip())
