"""The Markdown of an answer. One widget, however long the text is: a widget for each block of it is
what makes a screen slow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from textual import events
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style

from sssd_chat.tui.markdown.document import Document, Stretch
from sssd_chat.tui.markdown.drawing import Line
from sssd_chat.tui.markdown.inline import LINK
from sssd_chat.tui.messages import LinkChosen
from sssd_chat.tui.widgets.growing import Growing

_LINES_KEPT = 512
"""Lines that are ready for the screen: some screens full."""

_WITH_BACKGROUND = frozenset({".answer--code", ".answer--code-inline"})
"""Styles that are mixed with what is below them."""

_LINES_RESERVED = 5
"""While text comes, it has room for so many lines more. As long as that is enough, nothing but the
lines that changed is drawn, which takes less than half of the time."""


class _Reserved(NamedTuple):
    """The height that a growing text has at a width."""

    width: int = 0
    height: int = 0

    def at(self, width: int) -> int:
        """The height; none at other widths."""
        return self.height if width == self.width else 0


class AnswerText(Growing):
    """Draws the lines that are in view."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "answer--bullet",
        "answer--code",
        "answer--code-inline",
        "answer--emphasis",
        "answer--heading",
        "answer--link",
        "answer--major-heading",
        "answer--quote",
        "answer--rule",
        "answer--strong",
        "answer--struck",
        "answer--table-head",
        "answer--table-line",
    }

    def __init__(self, text: str = "") -> None:
        super().__init__(classes="body")
        self._document = Document()
        self._document.update(text)
        self._strips: LRUCache[tuple[Line, int], Strip] = LRUCache(_LINES_KEPT)
        self._reserved = _Reserved()

    @property
    def source(self) -> str:
        """The whole text."""
        return self._document.source

    def append(self, text: str) -> None:
        """Adds text at the end."""
        self._document.append(text)
        width = self.size.width
        height = _height(self._document.lines(width))
        if height <= self._reserved.at(width) and height <= self.size.height:
            first = self._document.first_changed
            self.refresh(Region(0, first, width, self.size.height - first))
        else:
            self._reserved = _Reserved(width, height + _LINES_RESERVED)
            self.refresh(layout=True)

    def update(self, text: str) -> None:
        """Shows this text, to which nothing is added for now."""
        self._document.update(text)
        self._reserved = _Reserved()
        self.refresh(layout=True)

    # The size and the lines

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """All of the width that there is."""
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as the text has at this width, an empty one below it, and room for what
        comes next."""
        return max(_height(self._document.lines(width)), self._reserved.at(width))

    def notify_style_update(self) -> None:
        """Colours may have changed."""
        self._strips.clear()
        super().notify_style_update()

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines in view. With no border and no padding there is nothing for Textual to add to
        them, line by line."""
        _, background = self.background_colors
        filters = self.get_line_filters()
        strips = []
        for y in crop.line_range:
            strip = self.render_line(y)
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, background)
            strips.append(strip.crop(crop.x, crop.right))
        return strips

    def render_line(self, y: int) -> Strip:
        """One line of the text."""
        width = self.size.width
        lines = self._document.lines(width)
        if y >= len(lines):
            return Strip.blank(width, self.rich_style)
        # Taken off the screen, it may be drawn once more before that is laid out.
        line, selection = lines[y], self.text_selection if self.is_attached else None
        marked = selection.get_span(y) if selection is not None else None
        if marked is not None:
            return self._strip(line, y, marked)
        key = line, y
        strip = self._strips.get(key)
        if strip is None or strip.cell_length != width:
            strip = self._strips[key] = self._strip(line, y)
        return strip

    def _strip(self, line: Line, y: int, marked: tuple[int, int] | None = None) -> Strip:
        base = self.visual_style
        content = line.content
        if marked is not None:
            start, end = marked
            style = Style.from_styles(self.screen.get_component_styles("screen--selection"))
            content = content.stylize(style, start, len(content) if end < 0 else end)
        segments = [
            Segment(text, style.rich_style)
            for text, style in content.render(base, "", self._style_named)
        ]
        strip = Strip(segments).apply_offsets(0, y)
        fill = base + self._style_named(line.fill) if line.fill else base
        return strip.adjust_cell_length(self.size.width, fill.rich_style)

    def _style_named(self, name: str | Style) -> Style:
        if isinstance(name, Style):
            return name
        if name in _WITH_BACKGROUND:
            return self.get_visual_style(name[1:])
        if name.startswith("."):
            return self.get_visual_style(name[1:], partial=True)
        return Style.parse(name)

    def stretch_at(self, line: int) -> Stretch | None:
        """The block that this line is in; None where there is no block."""
        return self._document.stretch_at(line, self.size.width)

    def stretch(self, number: int) -> Stretch | None:
        """The lines of a block; None where there is no such block."""
        return self._document.stretch(number, self.size.width)

    # What the mouse does

    def get_selection(self, selection: Selection) -> tuple[str, str]:
        """The text that is marked, without the line breaks that the screen put in."""
        found: list[str] = []
        joint = "\n"
        for y, line in enumerate(self._document.lines(self.size.width)):
            span = selection.get_span(y)
            if span is None:
                continue
            start, end = span
            # What is left of a wrapped line is there for the eye alone.
            start = start if joint == "\n" else max(start, line.margin)
            plain = line.content.plain
            found += [joint, plain[start : len(plain) if end < 0 else end].rstrip()]
            joint = line.joint
        return "".join(found[1:]), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Marks what is selected now."""
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Follows a link."""
        address = event.style.meta.get(LINK)
        if address and not self.screen.get_selected_text():
            event.stop()
            self.post_message(LinkChosen(address))


def _height(lines: Sequence[Line]) -> int:
    return len(lines) + 1 if lines else 0
