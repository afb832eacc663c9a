"""A Markdown text that grows, and its lines on the screen."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from itertools import takewhile
from typing import NamedTuple

from textual.content import Content

from sssd_chat.tui.markdown.blocks import Block, Cell, Margin, blocks
from sssd_chat.tui.markdown.drawing import Drawn, Line, draw
from sssd_chat.tui.markdown.segments import first_end, segments


class Stretch(NamedTuple):
    """The lines of one block, and of the empty one that may be below it."""

    number: int
    """Which block it is, from 0."""
    first: int
    """The number of its first line."""
    lines: int
    """How many it has."""


@dataclass(slots=True)
class _Part:
    """A part of the text that is read for itself."""

    source: str = ""
    _drawn: dict[Hashable, Drawn] = field(default_factory=dict)

    def draw(self, width: int, *, follows: bool) -> Iterable[Drawn]:
        """The lines of each block. A block that is as it was is not drawn anew."""
        drawn: dict[Hashable, Drawn] = {}
        for block in blocks(self.source, follows=follows):
            key = (len(drawn), width, _look(block))
            drawn[key] = self._drawn.get(key) or draw(block, width)
        self._drawn = drawn
        return drawn.values()


def _look(part: object) -> Hashable:
    """What two blocks that look the same have in common; texts compare without their styles."""
    match part:
        case Content():
            return part.plain, tuple(part.spans)
        case Block() | Margin() | Cell():
            return type(part), *(_look(getattr(part, one.name)) for one in fields(part))
        case tuple():
            return tuple(map(_look, part))
        case _:
            return part


class Document:
    """A text in parts, of which only the last one is read and drawn anew when text comes: that
    takes as long in a long text as in a short one."""

    def __init__(self) -> None:
        self._parts = [_Part()]
        self._width = 0
        self._lines: list[Line] = []
        self._starts: list[int] = []
        self._finished = _Finished()
        self._is_drawn = False
        self.first_changed = 0
        """The number of the first line that was another one in the drawing before."""

    @property
    def source(self) -> str:
        """The whole text."""
        return "".join(part.source for part in self._parts)

    def append(self, text: str) -> None:
        """Adds text at the end."""
        rest = self._parts[-1].source + text
        while end := first_end(rest):
            self._parts[-1].source = rest[:end]
            rest = rest[end:]
            self._parts.append(_Part())
        self._parts[-1].source = rest
        self._is_drawn = False

    def update(self, text: str) -> None:
        """Has this text instead. What comes piece by piece may look different as a whole."""
        wanted = segments(text)
        same = 0
        for part, new in zip(self._parts, wanted, strict=False):
            if part.source != new:
                break
            same += 1
        del self._parts[same:]
        self._parts += map(_Part, wanted[same:])
        if self._finished.parts >= len(self._parts) or self._finished.parts > same:
            self._finished = _Finished()
        self._is_drawn = False

    def lines(self, width: int) -> Sequence[Line]:
        """All lines, of at most so many cells each."""
        if width != self._width:
            self._width = width
            self._finished = _Finished()
            self._is_drawn = False
        if not self._is_drawn:
            self._is_drawn = True
            self._draw()
        return self._lines

    def _draw(self) -> None:
        start = self._finished.lines
        before = self._lines[start:]
        del self._lines[start:], self._starts[self._finished.blocks :]
        for number in range(self._finished.parts, len(self._parts)):
            self._finished = _Finished(number, len(self._lines), len(self._starts))
            for block in self._parts[number].draw(self._width, follows=bool(self._lines)):
                self._lines += block.above
                self._starts.append(len(self._lines))
                self._lines += block.lines
        pairs = zip(before, self._lines[start:], strict=False)
        self.first_changed = start + sum(
            1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs)
        )

    def stretch_at(self, line: int, width: int) -> Stretch | None:
        """The block that this line is in; None where there is no block."""
        self.lines(width)
        return self.stretch(bisect_right(self._starts, line) - 1, width)

    def stretch(self, number: int, width: int) -> Stretch | None:
        """The lines of a block; None where there is no such block."""
        self.lines(width)
        if not 0 <= number < len(self._starts):
            return None
        first, *after = self._starts[number : number + 2]
        return Stretch(number, first, (after[0] if after else len(self._lines)) - first)


class _Finished(NamedTuple):
    """How much of a drawing stays as it is when text comes: all before the last part."""

    parts: int = 0
    lines: int = 0
    blocks: int = 0
