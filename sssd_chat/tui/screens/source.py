"""The chat or document that words of an answer were drafted from, at their place."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Region
from textual.style import Style
from textual.widgets import Static

from sssd_chat.text import for_display, one_line
from sssd_chat.tui.figures import count
from sssd_chat.tui.screens.window import ReadingWindow

_SHOWN_AROUND = 12_000
"""Characters before and after the place; a whole book would take seconds to lay out."""
_META = "place"


class SourceScreen(ReadingWindow):
    """A part of a text, scrolled to a place in it."""

    CSS_PATH = "source.tcss"
    AUTO_FOCUS = "VerticalScroll"
    OPENED_BY = ("open_source",)

    def __init__(self, title: str, text: str, start: int, end: int, style: str) -> None:
        """Characters `start` to `end` of the text are shown in `style`."""
        super().__init__()
        self._title = one_line(title)
        self._content = _excerpt(text, start, end, style)

    def compose(self) -> ComposeResult:
        """One scrollable box."""
        with VerticalScroll() as box:
            box.border_title = Content(self._title)
            box.border_subtitle = self.way_out
            yield Static(self._content, markup=False)

    def on_mount(self) -> None:
        """Goes to the place once it is laid out."""
        self.call_after_refresh(self._show_place)

    def _show_place(self) -> None:
        text, box = self.query_one(Static), self.query_one(VerticalScroll)
        for y in range(text.size.height):
            if any(s.style and s.style.meta.get(_META) for s in text.render_line(y)):
                middle = Region(0, max(0, y - box.size.height // 3), 1, box.size.height)
                box.scroll_to_region(middle, animate=False, top=True)
                return


def _excerpt(text: str, start: int, end: int, style: str) -> Content:
    first, last = max(0, start - _SHOWN_AROUND), min(len(text), end + _SHOWN_AROUND)
    place = Content.styled(for_display(text[start:end]), style).stylize("reverse")
    above = f"↑ {count(first)} characters above are not shown\n\n" if first else ""
    below = f"\n\n↓ {count(len(text) - last)} characters below are not shown"
    return Content.assemble(
        (above, "$muted"),
        for_display(text[first:start]),
        place.stylize(Style.from_meta({_META: True})),
        for_display(text[end:last]),
        (below if last < len(text) else "", "$muted"),
    )
