"""Code fences in a growing Markdown text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class FenceScanner:
    """Follows a growing Markdown text and knows whether a code fence is open at its end."""

    _marker: str = ""
    _tail: str = ""
    open_length: int = 0
    """Characters since the open fence began, 0 when none is open."""

    def feed(self, text: str) -> None:
        """Reads on. A line counts once its end has come."""
        *lines, self._tail = (self._tail + text).split("\n")
        for line in lines:
            self._line(line)

    @property
    def is_open(self) -> bool:
        """Whether the text so far ends inside a fence."""
        return bool(self._marker)

    def _line(self, line: str) -> None:
        stripped = line.strip()
        if self._marker:
            self.open_length += len(line) + 1
            if len(stripped) >= len(self._marker) and not stripped.strip(self._marker[0]):
                self._marker = ""
                self.open_length = 0
            return
        for sign in "`~":
            rest = stripped.lstrip(sign)
            length = len(stripped) - len(rest)
            if length >= 3 and (sign == "~" or "`" not in rest):
                self._marker = sign * length
