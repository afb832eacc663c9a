"""The answer of `sssd-chat ask` on stdout."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sssd_chat.conversation.asked import AnswerPart
    from sssd_chat.conversation.thinking import Parts

_BEGIN, _END = "<think>\n", "\n</think>\n\n"


class AnswerPrinter:
    """Writes an answer as it comes when stdout is a terminal, and at its end otherwise."""

    def __init__(self, show_thinking: bool) -> None:
        """With `show_thinking`, what the model thought stands before the answer."""
        self._shows_thinking = show_thinking
        self._streams = sys.stdout.isatty()
        self._thinks = False

    def add(self, part: AnswerPart | Parts) -> None:
        """Takes in more of the answer."""
        from sssd_chat.text import for_display

        if not self._streams:
            return
        if part.thinking and self._shows_thinking:
            sys.stdout.write("" if self._thinks else _BEGIN)
            sys.stdout.write(for_display(part.thinking))
            self._thinks = True
        if part.text:
            sys.stdout.write(_END if self._thinks else "")
            sys.stdout.write(for_display(part.text))
            self._thinks = False
        sys.stdout.flush()

    def finish(self, answer: Parts) -> None:
        """The answer is over; this is all of it."""
        whole = answer.text
        if answer.thinking and self._shows_thinking:
            whole = f"{_BEGIN}{answer.thinking}{_END if answer.text else _END.rstrip()}{whole}"
        if not self._streams:
            sys.stdout.write(whole)
        elif self._thinks:
            sys.stdout.write(_END.rstrip())
        if whole and not whole.endswith("\n"):
            sys.stdout.write("\n")
        sys.stdout.flush()
