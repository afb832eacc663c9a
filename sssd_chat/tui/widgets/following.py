"""A scrolled view that follows its end, or stays where its reader is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual.containers import VerticalScroll
from textual.widget import Widget

from sssd_chat.tui.messages import PlaceChanged
from sssd_chat.tui.widgets.answer_text import AnswerText
from sssd_chat.tui.widgets.growing import Background, Growing
from sssd_chat.tui.widgets.scroll_bar import QuickBar


class Place(NamedTuple):
    """What is at the top edge of the view."""

    widget: Widget
    lines_above: int
    """How many of its lines are above the edge."""
    height: int
    """How many it had in all."""
    block: int | None = None
    """Of a text with blocks, the one that the lines and the height are of."""


class FollowingScroll(VerticalScroll, Growing, Background, can_focus=False):
    """Follows its end until the reader scrolls away, and again when the end is reached. Text that
    grows, is wrapped anew or comes in above leaves the line that is read in its place."""

    def __init__(self) -> None:
        super().__init__()
        self._at_end = True
        self._place: Place | None = None
        self._held = False
        self._released = False
        self._width = 0

    def on_mount(self) -> None:
        """Looks at the place whenever text or view move."""
        # Textual means it to be set for one bar.
        self.vertical_scrollbar.renderer = QuickBar  # type: ignore[misc]
        self.watch(self, "scroll_y", self._look_around_later)
        self.watch(self, "virtual_size", self._look_around_later)

    def blocks(self) -> Sequence[Widget]:
        """The widgets from top to bottom by which a place is found again."""
        raise NotImplementedError

    def parts(self, block: Widget) -> Sequence[Widget]:
        """The smaller widgets in a block, from top to bottom."""
        raise NotImplementedError

    async def reach_top(self) -> None:
        """The reader came to the first line."""
        raise NotImplementedError

    def follow(self) -> None:
        """Goes to the end and stays there while text comes."""
        if self.max_scroll_y:
            self.anchor()
        self._released = False

    @property
    def at_end(self) -> bool:
        """Whether the last line is in view."""
        return self._at_end

    def release_anchor(self) -> None:
        """The reader scrolls. Scrolling on at the end must not stop the following."""
        super().release_anchor()
        self._released = True
        self._look_around_later()

    def top_place(self) -> Place | None:
        """What is at the top edge now."""
        edge = self.content_region.y
        for block in self.blocks():
            if block.region.bottom > edge:
                for widget in (*self.parts(block), block):
                    if widget.region.bottom > edge:
                        return _place(widget, max(0, edge - widget.region.y))
        return None

    def hold(self, place: Place | None) -> None:
        """Goes back to a place as soon as what changes now is laid out; None changes nothing."""
        if place is not None:
            self._held = True
            self.call_after_refresh(self._return_to, place)

    def _look_around_later(self) -> None:
        self.call_after_refresh(self._look_around)

    async def _look_around(self) -> None:
        if self._held:
            return
        if self.size.width != self._width:
            self._width = self.size.width
            if not self._at_end and self._place is not None:
                # The text was wrapped anew.
                self._return_to(self._place)
                return
        if not self.max_scroll_y:
            # An anchor would push a short chat down to the bottom edge.
            if self.is_anchored:
                self.anchor(False)
                self.scroll_to(y=0, animate=False, immediate=True)
        elif not self.is_anchored:
            self.anchor()
        # While the view still moves, its target says where it is going.
        came_back = self.is_vertical_scroll_end and self.scroll_target_y >= self.max_scroll_y
        if came_back and self._released:
            self.follow()
        at_end = not self._released
        if at_end != self._at_end:
            self._at_end = at_end
            self.post_message(PlaceChanged(at_end))
        if not at_end:
            self._place = self.top_place()
            if not self.scroll_offset.y:
                await self.reach_top()

    def _return_to(self, place: Place) -> None:
        self._held = False
        widget = place.widget
        first, height = _lines_of(place)
        if widget.is_attached and height:
            top = widget.region.y + first - self.content_region.y + self.scroll_offset.y
            # Wrapped anew, a paragraph has as much of it above the edge as before.
            line = min(round(place.lines_above * height / max(1, place.height)), height - 1)
            self.scroll_to(y=top + line, animate=False, immediate=True)


def _place(widget: Widget, above: int) -> Place:
    if isinstance(widget, AnswerText) and (block := widget.stretch_at(above)) is not None:
        return Place(widget, above - block.first, block.lines, block.number)
    return Place(widget, above, widget.region.height)


def _lines_of(place: Place) -> tuple[int, int]:
    """The first line, within its widget, of what is at a place, and how many lines it has now."""
    if isinstance(place.widget, AnswerText) and place.block is not None:
        block = place.widget.stretch(place.block)
        return (block.first, block.lines) if block is not None else (0, 0)
    return 0, place.widget.region.height
