"""`sssd-chat models pull`: telling how a download goes."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sssd_chat.cli.console import show_status
from sssd_chat.text import one_line

if TYPE_CHECKING:
    from sssd_chat.models.pulling import Pulled
    from sssd_chat.models.quantizations import Choice, RemoteFile

_REFRESH = 0.2
"""Seconds between two lines."""


def pull(text: str, folders: Sequence[Path], offline: bool, as_json: bool) -> int:
    """Fetches REPO[:QUANT] and prints where it is; returns the exit code."""
    from sssd_chat.models.download import Patience
    from sssd_chat.models.hub import is_offline, split_name
    from sssd_chat.models.pulling import Listener, find_pulled
    from sssd_chat.models.pulling import pull as fetch

    name, quantization = split_name(text)
    if offline or is_offline():
        pulled = find_pulled(name, quantization, folders)
    else:
        line = _ProgressLine()
        listener = Listener(_tell_choice, line.update, Patience(tell=line.say))
        try:
            pulled = fetch(name, quantization, folders, listener)
        except KeyboardInterrupt:
            line.say("stopped; the same command goes on from here.")
            raise
        finally:
            line.clear()
    return _tell(pulled, as_json)


def _tell_choice(choice: Choice) -> None:
    size = choice.offer.size / 1e9
    _say(f"{one_line(choice.offer.label)} ({size:.2f} GB) is taken: {choice.why}.")


def _tell(pulled: Pulled, as_json: bool) -> int:
    from sssd_chat.llama.gguf import read_header

    # What a repository calls a model need not be one.
    read_header(pulled.path)
    if pulled.was_there:
        _say("it is on this machine already.")
    if as_json:
        print(json.dumps({"path": str(pulled.path), "was_there": pulled.was_there}))
    else:
        print(pulled.path)
    return 0


class _ProgressLine:
    """One line on a terminal that is written over; nothing elsewhere."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()
        self._file: RemoteFile | None = None
        self._began = self._shown_at = 0.0
        self._first = 0

    def update(self, file: RemoteFile, have: int, size: int) -> None:
        """So many bytes of a file are there."""
        now = time.monotonic()
        if file is not self._file:
            self._file, self._began, self._first = file, now, have
        elif now - self._shown_at < _REFRESH:
            return
        self._shown_at = now
        if self._is_shown:
            show_status(self._line(file, have, size, now - self._began))

    def _line(self, file: RemoteFile, have: int, size: int, seconds: float) -> str:
        share = have / size if size else 1.0
        line = (
            f"{one_line(file.name.rpartition('/')[2])}  {have / 1e6:,.0f} of {size / 1e6:,.0f} MB"
        )
        line += f"  {share:.0%}"
        speed = (have - self._first) / seconds if seconds > 0.5 else 0.0
        if speed > 0:
            left = int((size - have) / speed)
            line += f"  {speed / 1e6:.1f} MB/s  {left // 60}:{left % 60:02} left"
        return line

    def say(self, sentence: str) -> None:
        """A sentence on a line of its own."""
        self.clear()
        _say(sentence)

    def clear(self) -> None:
        """Takes the line away."""
        if self._is_shown:
            show_status("")


def _say(sentence: str) -> None:
    print(f"sssd-chat: {sentence}", file=sys.stderr)
