"""A column of widgets that grows at its end."""

from __future__ import annotations

from textual.geometry import Size
from textual.layout import DockArrangeResult
from textual.widget import Widget


class GrowingColumn(Widget):
    """A column as high as what is in it, each part as high as its content wants to be.

    Textual works out the parts anew for each height of the column that they are in. None of these
    depends on that height, so it is left out of the question: a part that did not change costs
    nothing when the column grows.
    """

    def arrange(self, size: Size, optimal: bool = False) -> DockArrangeResult:
        """Arranges the parts for a width alone."""
        return super().arrange(size.with_height(self.screen.size.height), optimal)
