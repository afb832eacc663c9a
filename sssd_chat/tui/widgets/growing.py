"""Widgets whose height follows from their width, and grows."""

from __future__ import annotations

from typing import Any

from textual.geometry import Region, Size
from textual.layout import DockArrangeResult
from textual.reactive import Reactive
from textual.strip import Strip
from textual.widget import Widget


class Growing(Widget):
    """A widget as high as what is in it.

    When a layout gives a widget another size, Textual does the whole layout once more, and draws
    twice. Here the second one would find the same, for no part depends on the height that the first
    one gave.
    """

    # Typed as widely as in Textual, whose attribute this one takes the place of.
    virtual_size: Reactive[Any] = Reactive(Size(0, 0), repaint=False)


class Background(Widget):
    """A widget that shows nothing but its parts, with no border above or below them.

    Textual draws each line of it, and all of them anew when it grows or is scrolled. They look
    alike, so one is enough.
    """

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines behind the parts."""
        one = Region(crop.x, crop.y, crop.width, min(1, crop.height))
        return super().render_lines(one) * crop.height


class GrowingColumn(Growing, Background):
    """A column of widgets that grows at its end, each part as high as its content wants to be.

    Textual works out the parts anew for each height of the column that they are in. None of these
    depends on that height, so it is left out of the question: a part that did not change costs
    nothing when the column grows.
    """

    def arrange(self, size: Size, optimal: bool = False) -> DockArrangeResult:
        """Arranges the parts for a width alone."""
        return super().arrange(size.with_height(self.screen.size.height), optimal)
