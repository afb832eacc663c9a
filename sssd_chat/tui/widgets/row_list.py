"""A list of any length with a cursor: only what is seen is drawn."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, NamedTuple

from textual import events
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

_GUTTER = 2
"""Cells for the mark of the cursor."""
_MARGIN = 1
"""Cells that stay free on the right, where the scroll bar may be."""
_CACHED_ROWS = 500


class Row(NamedTuple):
    """Some lines of the list."""

    key: Hashable | None
    """What the row stands for; None for one that the cursor passes over, as a headline."""
    lines: int
    draw: Callable[[int], Sequence[Content]]
    """Its lines for so many columns; longer ones are cut off."""


class RowList(ScrollView, can_focus=False):
    """Rows, one of them under the cursor. The keys belong to the screen, which moves the cursor
    with `move`; a click moves it too, and a click on the cursor chooses the row."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"row-list--row", "row-list--cursor"}
    DEFAULT_CSS = """
    RowList {
        height: 1fr;
        scrollbar-size-vertical: 1;
        overflow-x: hidden;
        & > .row-list--row { color: $foreground; }
        & > .row-list--cursor { background: $panel; }
    }
    """

    @dataclass
    class Moved(Message):
        """The cursor is on another row, or on none."""

        key: Hashable | None

    @dataclass
    class Chosen(Message):
        """A row was chosen by mouse."""

        key: Hashable

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: Sequence[Row] = ()
        self._starts: list[int] = [0]
        self._cursor: int | None = None
        self._drawn: dict[tuple[int, bool], list[Strip]] = {}
        self._drawn_width = 0

    @property
    def key(self) -> Hashable | None:
        """That of the row under the cursor; None while there is none."""
        return None if self._cursor is None else self._rows[self._cursor].key

    def show_rows(self, rows: Sequence[Row], key: Hashable | None = None) -> None:
        """Shows these rows in place of those before. The cursor goes to `key`, or stays on the row
        of its key, or near it, or goes to the first row."""
        before, wanted = self._cursor, self.key if key is None else key
        self._rows = rows
        self._starts = [0, *accumulate(row.lines for row in rows)]
        self._drawn.clear()
        self.virtual_size = Size(self.scrollable_content_region.width, self._starts[-1])
        places = {row.key: n for n, row in enumerate(rows) if row.key is not None}
        place = places.get(wanted)
        if place is None:
            place = self._nearest(before or 0)
        self._cursor = place
        self.refresh()
        self._follow()
        self.post_message(self.Moved(self.key))

    def move(self, rows: int) -> None:
        """Moves the cursor by some rows that can be chosen, as far as there are any."""
        place = self._cursor
        for _ in range(abs(rows)):
            step = 1 if rows > 0 else -1
            found = self._search(place + step, step) if place is not None else self._nearest(0)
            place = place if found is None else found
        self._put_cursor(place)

    def move_page(self, direction: int) -> None:
        """Moves the cursor by about as many lines as are seen, up (-1) or down (1)."""
        if self._cursor is None:
            return
        line = self._starts[self._cursor] + direction * max(1, self.size.height - 1)
        self._put_cursor(self._nearest(self._row_at(min(max(0, line), self._starts[-1] - 1))))

    def move_to_end(self, direction: int) -> None:
        """Moves the cursor to the first (-1) or last (1) row."""
        self._put_cursor(self._nearest(0 if direction < 0 else len(self._rows) - 1))

    def region_of_cursor(self) -> Region:
        """Where the first line of the row under the cursor stands, without the mark, in the list
        as it is scrolled now."""
        start = self._starts[self._cursor] if self._cursor is not None else 0
        width = self.scrollable_content_region.width
        return Region(_GUTTER, start - self.scroll_offset.y, width - _GUTTER - _MARGIN, 1)

    def _put_cursor(self, place: int | None) -> None:
        if place == self._cursor:
            return
        self._cursor = place
        self.refresh()
        self._follow()
        self.post_message(self.Moved(self.key))

    def _nearest(self, place: int) -> int | None:
        """The row at `place` or after it, else before it, that can be chosen."""
        place = min(place, len(self._rows) - 1)
        found = self._search(place, 1)
        return self._search(place, -1) if found is None else found

    def _search(self, place: int, step: int) -> int | None:
        while 0 <= place < len(self._rows):
            if self._rows[place].key is not None:
                return place
            place += step
        return None

    def _follow(self) -> None:
        """Scrolls as far as the cursor needs; to the headline too for the first row."""
        if self._cursor is None:
            return
        start, end = self._starts[self._cursor], self._starts[self._cursor + 1]
        if self._search(self._cursor - 1, -1) is None:
            start = 0
        top, height = self.scroll_offset.y, self.size.height
        if start < top:
            self.scroll_to(y=start, animate=False, immediate=True)
        elif end > top + height:
            self.scroll_to(y=end - height, animate=False, immediate=True)

    def _row_at(self, line: int) -> int:
        return bisect_right(self._starts, line) - 1

    def on_resize(self) -> None:
        """Draws for the new width."""
        self.virtual_size = Size(self.scrollable_content_region.width, self._starts[-1])
        self._follow()

    def notify_style_update(self) -> None:
        """Draws in the new colours."""
        self._drawn.clear()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        """One line of what is seen."""
        width = self.scrollable_content_region.width
        line = y + self.scroll_offset.y
        if not 0 <= line < self._starts[-1]:
            return Strip.blank(width, self.get_visual_style("row-list--row").rich_style)
        if width != self._drawn_width or len(self._drawn) > _CACHED_ROWS:
            self._drawn.clear()
            self._drawn_width = width
        place = self._row_at(line)
        drawn = self._drawn.setdefault((place, place == self._cursor), [])
        if not drawn:
            drawn += self._draw(place, width)
        return drawn[line - self._starts[place]]

    def _draw(self, place: int, width: int) -> list[Strip]:
        row, is_cursor = self._rows[place], place == self._cursor
        kinds = ("row-list--row", "row-list--cursor") if is_cursor else ("row-list--row",)
        style = self.get_visual_style(*kinds)
        room = max(1, width - _GUTTER - _MARGIN)
        lines = [*row.draw(room)][: row.lines]
        lines += [Content()] * (row.lines - len(lines))
        mark = Content.styled("▌ " if is_cursor else "  ", "$accent")
        strips = []
        for line in lines:
            whole = mark + line.truncate(room, ellipsis=True)
            strips += Visual.to_strips(
                self, whole, width, 1, style, apply_selection=False, pad=True
            )
        return strips

    def on_click(self, event: events.Click) -> None:
        """Moves the cursor to the row; a click on the cursor chooses."""
        line = event.y + self.scroll_offset.y
        if not 0 <= line < self._starts[-1]:
            return
        place = self._row_at(line)
        key = self._rows[place].key
        if key is None:
            return
        if place == self._cursor:
            self.post_message(self.Chosen(key))
        else:
            self._put_cursor(place)
