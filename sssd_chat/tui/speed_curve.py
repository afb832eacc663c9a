"""The speed-up of each week, as a plot with its axes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache

from textual.content import Content

from sssd_chat.conversation.events import WeekSpeed
from sssd_chat.tui.plots import columns

_SCALE = 6
_WEEK = 7 * 24 * 3600
_WIDEST_COLUMN = 5
_LOWEST_TOP = 1.5


def has_curve(weeks: Sequence[WeekSpeed]) -> bool:
    """Whether there is a speed to draw."""
    return any(week.speed_up is not None for week in weeks)


@lru_cache(maxsize=8)
def speed_curve(weeks: tuple[WeekSpeed, ...], width: int, height: int) -> tuple[Content, ...]:
    """A column for each week in `height` lines of `width` cells, the last line being the axis of
    time; the oldest weeks are left out where there is no room for all."""
    room = max(4, width - _SCALE)
    shown = _every_week(weeks)[-room:]
    known = [speed for _, speed in shown if speed is not None]
    if not known:
        return (
            Content.styled("the speed of each week", "$muted"),
            Content.styled("shows after the first answers", "$muted"),
        )
    top = max(_LOWEST_TOP, *known)
    cells = min(room, _WIDEST_COLUMN * len(shown))
    drawn = columns([speed for _, speed in shown], 1.0, top, height - 1)
    scales = [f"{top:.2f}×", *[""] * (height - 3), "1×"] if height > 2 else [f"{top:.2f}×"]
    lines = [
        Content.assemble((_stretched(line, cells), "$accent"), (f"{scale:>{_SCALE}}", "$muted"))
        for line, scale in zip(drawn, scales, strict=True)
    ]
    return (*lines, Content.styled(_axis([start for start, _ in shown], cells), "$muted"))


def _stretched(line: str, cells: int) -> str:
    """The columns of a line as wide as there is room for, with a gap after each wide one."""
    wide = cells // len(line) > 1
    starts = [number * cells // len(line) for number in range(len(line) + 1)]
    return "".join(
        cell * (end - begin - wide) + " " * wide
        for cell, begin, end in zip(line, starts, starts[1:], strict=False)
    )


def _every_week(weeks: Sequence[WeekSpeed]) -> list[tuple[float, float | None]]:
    """Beginning and speed-up of every week from the first one on, those without answers too."""
    known = {round(week.start / _WEEK): (week.start, week.speed_up) for week in weeks}
    if not known:
        return []
    return [
        known.get(number, (number * _WEEK, None)) for number in range(min(known), max(known) + 1)
    ]


def _wide(cell: str, width: int) -> str:
    return cell if width == 1 else cell * (width - 1) + " "


def _axis(starts: Sequence[float], width: int) -> str:
    """The first week on the left and the last one on the right."""
    first, last = _day(starts[0]), _day(starts[-1])
    if len(starts) == 1:
        return f"week of {first}"
    return f"{first}{last:>{max(len(last) + 1, width - len(first))}}"


def _day(start: float) -> str:
    """A day as "5 Oct"; weeks begin in UTC."""
    day = datetime.fromtimestamp(start, UTC)
    return f"{day.day} {day:%b}"
