"""Text of a model or of a person, made safe for a terminal.

Only what is drawn goes through here. What is stored and sent stays whole.
"""

from __future__ import annotations

from dataclasses import dataclass

_LINE_BREAKS = "\v\f\x85\u2028\u2029"
_BIDI_CONTROLS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def _replacements() -> dict[int, str | None]:
    table: dict[int, str | None] = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)))
    table.update(dict.fromkeys(map(ord, _BIDI_CONTROLS)))
    # A line break of another kind stays a break, or two words would become one.
    table.update(dict.fromkeys(map(ord, _LINE_BREAKS), "\n"))
    table.update(dict.fromkeys(range(0xD800, 0xE000), "\ufffd"))
    del table[ord("\n")], table[ord("\t")]
    return table


_REPLACEMENTS = _replacements()


def for_display(text: str) -> str:
    """`text` without what could move the cursor, colour the terminal or reverse a line. Works
    character by character, so pieces can be cleaned one after the other."""
    return text.translate(_REPLACEMENTS)


def one_line(text: str) -> str:
    """`text` for a place that has a single line."""
    return " ".join(for_display(text).split())


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
