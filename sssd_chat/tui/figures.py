"""Numbers as they are shown. What is not known is a dash, never a zero."""

from __future__ import annotations

UNKNOWN = "–"


def decimal(value: float | None, places: int = 1) -> str:
    """`value` with a fixed number of places."""
    return UNKNOWN if value is None else f"{value:,.{places}f}"


def percent(share: float | None) -> str:
    """A share of 0 to 1 as a percentage."""
    return UNKNOWN if share is None else f"{100 * share:.0f} %"


def times(factor: float | None) -> str:
    """A speed-up."""
    return UNKNOWN if factor is None else f"{factor:.2f}×"


def count(value: int | None) -> str:
    """A number of things."""
    return UNKNOWN if value is None else f"{value:,}"


def short_count(value: int | None) -> str:
    """A number of things where there is little room: 812, 1.8k, 131k."""
    if value is None:
        return UNKNOWN
    if value < 1000:
        return str(value)
    return f"{value / 1000:.1f}k" if value < 99_950 else f"{value / 1000:.0f}k"


def bar(share: float, width: int) -> tuple[str, str]:
    """A bar of `width` cells, as its full and its empty part. Anything above nothing shows."""
    full = round(min(1.0, max(0.0, share)) * width)
    if share > 0:
        full = max(1, full)
    return "━" * full, "─" * (width - full)


def sparkline(values: list[int], width: int, top: int) -> str:
    """The last `width` values as columns; 1 is the lowest column and `top` the highest."""
    columns = "▁▂▃▄▅▆▇█"
    span = max(1, top - 1)
    return "".join(
        columns[min(7, max(0, round((value - 1) / span * 7)))] for value in values[-width:]
    )
