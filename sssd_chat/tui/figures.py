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
    """A number of things where there is little room: 812, 1.8k, 131k, 1.7M."""
    if value is None:
        return UNKNOWN
    if value < 1000:
        return str(value)
    if value < 999_500:
        return f"{value / 1000:.1f}k" if value < 99_950 else f"{value / 1000:.0f}k"
    return f"{value / 1e6:,.1f}M"


def bar(share: float, width: int) -> tuple[str, str]:
    """A bar of `width` cells, as its full and its empty part. Anything above nothing shows."""
    full = round(min(1.0, max(0.0, share)) * width)
    if share > 0:
        full = max(1, full)
    return "━" * full, "─" * (width - full)


def size(bytes: int | None) -> str:
    """A number of bytes."""
    if bytes is None:
        return UNKNOWN
    number = float(bytes)
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            whole = unit == "B" or number >= 100
            return f"{number:.0f} {unit}" if whole else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:,.1f} GB"


def duration(seconds: float | None) -> str:
    """A time, or how much of it was saved."""
    if seconds is None:
        return UNKNOWN
    if abs(seconds) < 120:
        # Less than nothing is possible, but no zero has a sign.
        return f"{round(seconds, 1) + 0.0:.1f} s"
    return f"{seconds / 60:.0f} min" if abs(seconds) < 7200 else f"{seconds / 3600:,.1f} h"
