"""How far `sssd-chat batch` is, on stderr."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING

from sssd_chat.cli.console import duration, figure, show_status

if TYPE_CHECKING:
    from sssd_chat.conversation.batch.run import Tally

_LINE_SECONDS = 10.0
"""Between two lines where stderr is no terminal."""
_STATUS_SECONDS = 0.1
_BAR = 20


class BatchProgress:
    """A bar on a terminal, plain lines elsewhere."""

    def __init__(self, total: int, before: int, *, quiet: bool) -> None:
        """`before` of the `total` requests were answered in earlier runs."""
        self._total = total
        self._before = before
        self._quiet = quiet
        self._is_terminal = sys.stderr.isatty()
        self._next = 0.0

    def loading(self, done: float) -> bool:
        """The model is being read. Returns True, so that it goes on."""
        if self._is_terminal and not self._quiet:
            show_status(f"loading the model {done:4.0%}")
        return True

    def show(self, tally: Tally) -> None:
        """Shows how far it is, now and then."""
        now = time.monotonic()
        if self._quiet or now < self._next:
            return
        self._next = now + (_STATUS_SECONDS if self._is_terminal else _LINE_SECONDS)
        if self._is_terminal:
            width = shutil.get_terminal_size().columns - 1
            show_status(f"{self._bar(tally)} {self._figures(tally)}"[:width])
        else:
            self._say(tally)

    def finish(self, tally: Tally) -> None:
        """Shows how far it came."""
        if self._quiet:
            return
        if self._is_terminal:
            show_status("")
        self._say(tally)

    def _say(self, tally: Tally) -> None:
        print(f"sssd-chat: {self._figures(tally)}", file=sys.stderr, flush=True)

    def _bar(self, tally: Tally) -> str:
        full = _BAR * (self._before + tally.lines) // self._total
        return "█" * full + "░" * (_BAR - full)

    def _figures(self, tally: Tally) -> str:
        parts = [
            f"{self._before + tally.lines} of {self._total}",
            f"{tally.tokens / max(tally.seconds, 1e-9):.1f} tokens/s",
            f"τ {figure(tally.tokens_per_step, '.2f')}",
        ]
        left = self._total - self._before - tally.lines
        if tally.failed:
            parts.append(f"{tally.failed} failed")
        if tally.lines and left:
            parts.append(f"{duration(tally.seconds / tally.lines * left)} left")
        return " · ".join(parts)
