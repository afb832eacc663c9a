"""The size of the drafts, and the cost of a step that it was chosen by."""

from __future__ import annotations

import math
from collections.abc import Sequence

from textual.content import Content

from sssd_chat.conversation.events import CostCurve
from sssd_chat.tui.figures import UNKNOWN, times
from sssd_chat.tui.plots import curve, place
from sssd_chat.tui.widgets.panel.section import Section

_SCALE = 6
_PLOTS = (2, 4, 5)
"""Lines of the plot, at each height of the section."""
_BESIDE_PLOT = 3
"""Two rows of numbers above it, and the axis below."""
_FEWEST_POINTS = 2
_MARK = "●"


class CostSection(Section):
    """What a step of n tokens costs, as times a step of one, and the n that is used."""

    TITLE = "Cost of a step"
    RANK = 4

    def heights(self, is_calm: bool) -> tuple[int, ...]:
        """The number alone; with the plot, or with what is known before there is one."""
        if len(_relative(self.state.cost)) < _FEWEST_POINTS:
            return 1, 2
        return 1, *(plot + _BESIDE_PLOT for plot in _PLOTS)

    def lines(self, height: int) -> Sequence[Content]:
        """The chosen size and its cost; the plot with the chosen size marked."""
        relative = _relative(self.state.cost)
        chosen = self.state.batch_size
        size = self.row("tokens in a step", UNKNOWN if chosen is None else f"{_MARK} {chosen:>2}")
        if height == 1:
            return [size]
        price = _at(relative, chosen) if relative and chosen is not None else None
        rows = [size, self.row("its time, against one", times(price))]
        if len(relative) < _FEWEST_POINTS or height <= _BESIDE_PLOT:
            return rows
        return [*rows, *self._plot(relative, chosen, height - _BESIDE_PLOT)]

    def _plot(
        self, relative: list[tuple[int, float]], chosen: int | None, height: int
    ) -> list[Content]:
        width = max(8, self.columns - _SCALE)
        top = max(2.0, *(cost for _, cost in relative))
        largest = relative[-1][0]
        points = tuple((_x(size, largest), _y(cost, top)) for size, cost in relative)
        drawn = [
            Content.styled(f"{line:<{width}}", "$accent") for line in curve(points, width, height)
        ]
        if chosen is not None:
            column, line = place(_x(chosen, largest), _y(_at(relative, chosen), top), width, height)
            left, right = drawn[line][:column], drawn[line][column + 1 :]
            drawn[line] = Content.assemble(left, (_MARK, "bold $warning"), right)
        scales = [f"{top:.1f}×", *[""] * (height - 2), "1×"]
        lines = [
            Content.assemble(line, (f"{scale:>{_SCALE}}", "$muted"))
            for line, scale in zip(drawn, scales, strict=True)
        ]
        return [*lines, Content.styled(_axis(largest, width), "$muted")]


def _relative(cost: CostCurve | None) -> list[tuple[int, float]]:
    """Sizes with their cost as times that of one token; nothing while that is unknown."""
    if cost is None:
        return []
    measured = dict(zip(cost.sizes, cost.milliseconds, strict=True))
    one = measured.get(1)
    return [(size, measured[size] / one) for size in sorted(measured)] if one else []


def _at(relative: list[tuple[int, float]], size: int) -> float:
    """The cost of a size, between two that were measured if need be."""
    above = next((n for n, (known, _) in enumerate(relative) if known >= size), len(relative) - 1)
    (right, high), (left, low) = relative[above], relative[max(0, above - 1)]
    share = (size - left) / (right - left) if right > left else 1.0
    return low + (high - low) * min(1.0, share)


def _x(size: int, largest: int) -> float:
    """Sizes are drawn by their logarithm: the small ones matter most."""
    return min(1.0, math.log2(size) / max(1.0, math.log2(largest)))


def _y(cost: float, top: float) -> float:
    return (cost - 1.0) / (top - 1.0)


def _axis(largest: int, width: int) -> str:
    """The powers of two at their places below the plot."""
    cells = [" "] * (width + _SCALE)
    size = 1
    while size <= largest:
        text = str(size)
        column = place(_x(size, largest), 0.0, width, 1)[0]
        cells[column : column + len(text)] = text
        size *= 2
    return "".join(cells).rstrip()
