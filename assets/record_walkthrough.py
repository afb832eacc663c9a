"""Records assets/walkthrough.cast: `python assets/record_walkthrough.py`.

Options of the chat may follow. The real program runs in a pseudo-terminal with the starter model,
in a home of its own; what it writes is kept with its times, in the format of asciinema (version 2),
so that `asciinema play` shows it as it was.
"""

from __future__ import annotations

import codecs
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.terminal import Terminal  # noqa: E402

COLUMNS, ROWS = 110, 32
SECONDS_PER_KEY = 0.05
LONGEST_PAUSE = 1.5
"""Seconds; a player shortens longer ones."""
ANSWERS = ("--temperature", "0", "--max-tokens", "120")
ESCAPE, F1, F7, CTRL_Q = "\x1b", "\x1bOP", "\x1b[18~", "\x11"


class Recording(Terminal):
    """A program in a terminal; what it writes is noted with its time."""

    def __init__(self, words: Sequence[str]) -> None:
        self.pieces: list[tuple[float, bytes]] = []
        self._began = time.monotonic()
        super().__init__(words, COLUMNS, ROWS)

    def _read(self, seconds: float) -> bool:
        before = len(self.raw)
        goes_on = super()._read(seconds)
        if len(self.raw) > before:
            self.pieces.append((time.monotonic() - self._began, self.raw[before:]))
        return goes_on

    def rest(self, seconds: float) -> None:
        """Lets the program go on."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._read(0.02)

    def type_slowly(self, text: str) -> None:
        """Types like a person."""
        for character in text:
            self.type(character)
            self.rest(SECONDS_PER_KEY)

    def ask(self, question: str) -> None:
        """Types a question and waits for the end of its answer."""
        self.type_slowly(question)
        self.rest(0.5)
        self.type("\r")
        self.wait_for("tokens/s", 180)
        self.rest(1.5)

    def cast(self) -> str:
        """The recording as asciinema has it."""
        header = {
            "version": 2,
            "width": COLUMNS,
            "height": ROWS,
            "idle_time_limit": LONGEST_PAUSE,
            "title": "sssd-chat",
            "env": {"TERM": "xterm-256color"},
        }
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        lines = [json.dumps(header)]
        for when, data in self.pieces:
            lines.append(
                json.dumps([round(when, 3), "o", decoder.decode(data)], ensure_ascii=False)
            )
        return "\n".join(lines) + "\n"


def main() -> None:
    """Walks through a short chat."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["SSSD_CHAT_HOME"] = home
        os.environ["PYTHONPATH"] = str(ROOT)
        terminal = Recording([*sys.argv[1:], *ANSWERS])
        try:
            terminal.wait_for("Ask something", 60)
            terminal.rest(3)
            terminal.ask("Write a Python function that counts words.")
            terminal.ask("Repeat the function with a docstring.")
            terminal.type(F7)
            terminal.rest(3)
            terminal.type(F7)
            terminal.type(F1)
            terminal.rest(3)
            terminal.type(ESCAPE)
            terminal.rest(1)
            terminal.type(CTRL_Q)
            terminal.exit_code()
        finally:
            terminal.close()
        (ROOT / "assets" / "walkthrough.cast").write_text(terminal.cast(), encoding="utf-8")


if __name__ == "__main__":
    main()
