"""A titled part of the panel. Its height is given to it, so its numbers never move anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content
from textual.geometry import Region
from textual.widget import Widget

from sssd_chat.tui.chat_state import ChatState

_GUESSED_COLUMNS = 30
"""Before the first layout."""


class Section(Widget):
    """Lines about one thing. Each kind of section says which heights it can use, and what it says
    in so many lines."""

    TITLE: ClassVar[str]
    RANK: ClassVar[int]
    """The higher, the sooner the section goes where there is little room."""

    def __init__(self, state: ChatState) -> None:
        super().__init__()
        self.border_title = f" {self.TITLE} "
        self.state = state
        self._height = 0
        self._lines: list[Content] = []
        self._drawn_columns = 0

    def heights(self, is_calm: bool) -> tuple[int, ...]:
        """The heights that the section can use now, the smallest first, without the title;
        `is_calm` where there is room between the sections."""
        raise NotImplementedError

    def lines(self, height: int) -> Sequence[Content]:
        """What it says in `height` lines, one of `heights`."""
        raise NotImplementedError

    def give(self, height: int) -> None:
        """Gives it so many lines; with none it is not shown."""
        self.display = height > 0
        if height and height != self._height:
            self._height = height
            self.styles.height = height + 1
            self._draw_all()

    def show(self) -> None:
        """Draws the lines again that changed, and no others."""
        if not self.display:
            return
        before, self._lines = self._lines, self._filled()
        if len(before) != len(self._lines) or self._drawn_columns != self.columns:
            self._draw_all()
            return
        for number, (old, new) in enumerate(zip(before, self._lines, strict=True)):
            if not old.is_same(new):
                self.refresh(Region(0, number, self.columns, 1))

    def _draw_all(self) -> None:
        self._lines = self._filled()
        self._drawn_columns = self.columns
        self.refresh()

    def _filled(self) -> list[Content]:
        if not self._height:
            return []
        lines = list(self.lines(self._height))[: self._height]
        return lines + [Content()] * (self._height - len(lines))

    def render(self) -> Content:
        """The lines of the section."""
        if self._drawn_columns != self.columns:
            self._lines = self._filled()
            self._drawn_columns = self.columns
        return Content("\n").join(self._lines)

    @property
    def columns(self) -> int:
        """Cells in a line."""
        return self.content_size.width or _GUESSED_COLUMNS

    def row(self, name: str, value: str) -> Content:
        """A name on the left and a number on the right edge."""
        gap = self.columns - len(name) - len(value)
        return Content.assemble((name, "$muted"), " " * max(1, gap), (value, "bold"))
