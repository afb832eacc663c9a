"""Where the accepted tokens came from."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from sssd_chat.text import for_row, one_line
from sssd_chat.tui.figures import bar, percent
from sssd_chat.tui.widgets.panel.section import Section

_FEWEST_ROWS, _MOST_ROWS = 3, 8
_PERCENT_WIDTH = 6


class SourcesSection(Section):
    """A bar for each source."""

    TITLE = "Accepted tokens by source"
    RANK = 2

    def heights(self, is_calm: bool) -> tuple[int, ...]:
        """Three rows, or up to one for each source."""
        most = min(_MOST_ROWS, len(self.state.source_names))
        return tuple(range(_FEWEST_ROWS, max(_FEWEST_ROWS, most) + 1))

    def lines(self, height: int) -> Sequence[Content]:
        """The sources, always in the same order; without room for all, those with the largest
        shares, and the others in the last row."""
        shares = self.state.shares_by_source()
        if not shares:
            return [Content.styled("nothing was drafted yet", "$muted")]
        if len(shares) <= height:
            return [self._bar(name, share) for name, share in shares]
        largest = sorted(shares, key=lambda pair: pair[1] or 0.0, reverse=True)[: height - 1]
        rest = [share for name, share in shares if (name, share) not in largest]
        known = [share for share in rest if share is not None]
        others = self._bar(f"{len(rest)} others", sum(known) if known else None)
        return [*(self._bar(*pair) for pair in shares if pair in largest), others]

    def _bar(self, name: str, share: float | None) -> Content:
        names = min(24, max(14, self.columns // 2 - 3))
        full, empty = bar(share or 0.0, max(4, self.columns - names - 1 - _PERCENT_WIDTH))
        shown = Content(one_line(for_row(name))).truncate(names, ellipsis=True, pad=True)
        return Content.assemble(
            shown.stylize("$muted"),
            " ",
            (full, "$accent"),
            (empty, "$quiet"),
            (f"{percent(share):>{_PERCENT_WIDTH}}", "bold"),
        )
