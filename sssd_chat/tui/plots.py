"""Small plots made of characters, as plain text. What they mean stands beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

_COLUMNS = "▁▂▃▄▅▆▇█"
_EIGHTHS = len(_COLUMNS)
_NOTHING = "·"
"""Where a value is not known."""
_DOTS_ACROSS, _DOTS_DOWN = 2, 4
_BRAILLE = 0x2800
_DOT_BITS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""The bit of each dot of a braille character: by column, then by row from the top."""


def columns(values: Sequence[float | None], low: float, high: float, height: int = 1) -> list[str]:
    """A column for each value in lines from the top down: `low` and less still shows as the lowest
    mark, `high` and more fills all lines; a dot at the foot where a value is not known."""
    levels = [None if value is None else _level(value, low, high, height) for value in values]
    return ["".join(_cell(level, height - 1 - line) for level in levels) for line in range(height)]


def _level(value: float, low: float, high: float, height: int) -> int:
    """Eighths of a line, 1 to 8 × `height`."""
    most = height * _EIGHTHS
    share = (value - low) / (high - low) if high > low else 0.0
    return 1 + round(min(1.0, max(0.0, share)) * (most - 1))


def _cell(level: int | None, above: int) -> str:
    """What a column shows `above` lines over its foot."""
    if level is None:
        return _NOTHING if above == 0 else " "
    eighths = min(_EIGHTHS, level - above * _EIGHTHS)
    return _COLUMNS[eighths - 1] if eighths > 0 else " "


@lru_cache(maxsize=8)
def curve(points: tuple[tuple[float, float], ...], width: int, height: int) -> tuple[str, ...]:
    """A line through points (x from 0 at the left to 1 at the right, ascending; y from 0 at the
    foot to 1 at the top) as `height` lines of `width` braille characters, from the top down."""
    across, down = width * _DOTS_ACROSS, height * _DOTS_DOWN
    dots = [[0] * width for _ in range(height)]
    before: int | None = None
    for column in range(across):
        y = _between(points, column / max(1, across - 1))
        if y is None:
            continue
        row = _row(y, down)
        for dot in _stretch(before, row):
            bit = _DOT_BITS[column % _DOTS_ACROSS][dot % _DOTS_DOWN]
            dots[dot // _DOTS_DOWN][column // _DOTS_ACROSS] |= bit
        before = row
    return tuple("".join(chr(_BRAILLE | cell) if cell else " " for cell in line) for line in dots)


def place(x: float, y: float, width: int, height: int) -> tuple[int, int]:
    """The column, and the line from the top, of the character in which `curve` draws (x, y)."""
    column = round(x * (width * _DOTS_ACROSS - 1)) // _DOTS_ACROSS
    return column, _row(y, height * _DOTS_DOWN) // _DOTS_DOWN


def _row(y: float, down: int) -> int:
    """The dot of a height, counted from the top."""
    return round((1.0 - min(1.0, max(0.0, y))) * (down - 1))


def _between(points: Sequence[tuple[float, float]], x: float) -> float | None:
    """The height of the line at x; None outside of its points."""
    for (left, low), (right, high) in pairwise(points):
        if left <= x <= right:
            return low + (high - low) * ((x - left) / (right - left) if right > left else 1.0)
    return points[0][1] if len(points) == 1 and math.isclose(points[0][0], x) else None


def _stretch(before: int | None, row: int) -> range:
    """The dots of a column that join it to the one before."""
    if before is None or before == row:
        return range(row, row + 1)
    return range(before + 1, row + 1) if before < row else range(row, before)


def portions(shares: Sequence[float], width: int) -> list[int]:
    """`width` cells shared out by `shares`, which need not sum to 1: none of what is nothing, at
    least one of anything else where there is room, and in all exactly `width` unless all of it is
    nothing."""
    total = sum(shares)
    if total <= 0:
        return [0] * len(shares)
    exact = [share / total * width for share in shares]
    cells = [
        max(1, math.floor(part)) if share > 0 else 0
        for part, share in zip(exact, shares, strict=True)
    ]
    while sum(cells) < width:
        short = max(range(len(cells)), key=lambda n: exact[n] - cells[n])
        cells[short] += 1
    while sum(cells) > width:
        over = max(range(len(cells)), key=lambda n: (cells[n] > 1, cells[n] - exact[n]))
        cells[over] -= 1
    return cells
