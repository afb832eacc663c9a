"""What the time of an answer went into."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from sssd_chat.tui.figures import percent
from sssd_chat.tui.plots import portions
from sssd_chat.tui.widgets.panel.section import Section

_GLYPHS = ("░", "█", "▒", "·")
_STYLES = ("$warning", "$accent", "$secondary", "$muted")
"""One for each part of the time; the glyphs tell the parts apart without colour."""
_NAME_WIDTH, _PERCENT_WIDTH = 9, 5


class TimeSection(Section):
    """One bar in four parts, and a legend."""

    TITLE = "Time"
    RANK = 5

    def heights(self, is_calm: bool) -> tuple[int, ...]:
        """The bar with two rows of legend; with an empty line between them."""
        return 3, 4

    def lines(self, height: int) -> Sequence[Content]:
        """The parts in the order in which a step goes through them."""
        parts = self.state.time_by_part
        shares = list(parts.values())
        known = [share for share in shares if share is not None]
        cells = portions(known or [0.0] * len(shares), self.columns)
        if known:
            bar = Content.assemble(
                *(
                    (glyph * width, style)
                    for glyph, width, style in zip(_GLYPHS, cells, _STYLES, strict=True)
                )
            )
        else:
            bar = Content.styled("─" * self.columns, "$quiet")
        legend = [
            Content.assemble(
                (f"{glyph} ", style),
                (f"{name:<{_NAME_WIDTH}}", "$muted"),
                (f"{percent(share):>{_PERCENT_WIDTH}}", "bold"),
            )
            for glyph, style, (name, share) in zip(_GLYPHS, _STYLES, parts.items(), strict=True)
        ]
        gap = " " * max(1, self.columns - 2 * legend[0].cell_length)
        pairs = zip(legend[::2], legend[1::2], strict=True)
        space = [Content()] * (height - 3)
        return [bar, *space, *(Content.assemble(left, gap, right) for left, right in pairs)]
