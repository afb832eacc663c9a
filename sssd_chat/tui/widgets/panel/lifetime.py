"""What drafting has given in all, and how the speed grew with the datastore."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from sssd_chat.tui.figures import UNKNOWN, count, duration
from sssd_chat.tui.speed_curve import has_curve, speed_curve
from sssd_chat.tui.widgets.panel.section import Section

_ROWS = 2
_PLOTS = (2, 4, 6)
_AXIS = 1


class LifetimeSection(Section):
    """Sums over all answers, and the speed-up of each week."""

    TITLE = "Since you began"
    RANK = 6

    def heights(self, is_calm: bool) -> tuple[int, ...]:
        """The sums; with the curve, or with when there will be one."""
        if not (self.state.lifetime and has_curve(self.state.lifetime.weeks)):
            return _ROWS, _ROWS + 2
        return _ROWS, *(_ROWS + plot + _AXIS for plot in _PLOTS)

    def lines(self, height: int) -> Sequence[Content]:
        """Two rows, then the curve."""
        lifetime = self.state.lifetime
        rows = [
            self.row("tokens written", count(lifetime.tokens if lifetime else None)),
            self.row("time saved", duration(lifetime.seconds_saved) if lifetime else UNKNOWN),
        ]
        if height == _ROWS:
            return rows
        weeks = lifetime.weeks if lifetime else ()
        return [*rows, *speed_curve(weeks, self.columns, height - _ROWS)]
