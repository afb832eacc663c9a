"""Plots of characters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.conversation.events import WeekSpeed
from sssd_chat.tui.plots import columns, curve, place, portions
from sssd_chat.tui.speed_curve import speed_curve

HEIGHTS = "▁▂▃▄▅▆▇█"
WEEK = 7 * 24 * 3600.0
MONDAY = 1_761_523_200.0  # 27 October 2025
values = st.lists(st.none() | st.floats(-5, 15), max_size=40)


@given(values, st.integers(1, 5))
def test_columns_are_as_wide_as_the_values_and_grow_with_them(
    given: list[float | None], height: int
) -> None:
    lines = columns(given, 0.0, 10.0, height)
    assert [len(line) for line in lines] == [len(given)] * height
    filled = [
        sum(HEIGHTS.index(line[n]) + 1 for line in lines if line[n] in HEIGHTS)
        for n in range(len(given))
    ]
    for value, eighths, mark in zip(given, filled, lines[-1], strict=True):
        assert (mark == "·") == (value is None) == (eighths == 0)
    known = sorted(
        (value, eighths) for value, eighths in zip(given, filled, strict=True) if value is not None
    )
    assert [eighths for _, eighths in known] == sorted(eighths for _, eighths in known)


def test_columns_span_the_scale() -> None:
    assert columns([1, 8], 1, 8) == ["▁█"]
    assert columns([1, 4, 8], 1, 8, 2) == ["  █", "▁▇█"]
    assert columns([-3, 99, None], 1, 8) == ["▁█·"]
    assert columns([2], 2, 2) == ["▁"], "a scale without extent divides by nothing"


points = st.lists(st.floats(0, 1), min_size=2, max_size=8, unique=True).map(sorted)


@given(points, st.data(), st.integers(1, 30), st.integers(1, 6))
def test_a_curve_is_one_line_without_gaps(
    xs: list[float], data: st.DataObject, width: int, height: int
) -> None:
    xs[0], xs[-1] = 0.0, 1.0
    ys = data.draw(st.lists(st.floats(0, 1), min_size=len(xs), max_size=len(xs)))
    lines = curve(tuple(zip(xs, ys, strict=True)), width, height)
    assert [len(line) for line in lines] == [width] * height
    assert all(any(line[n] != " " for line in lines) for n in range(width))
    column, line = place(1.0, ys[-1], width, height)
    assert column == width - 1 and lines[line][column] != " ", "the mark lies on the line"


def test_a_curve_rises_from_the_foot_to_the_top() -> None:
    assert curve(((0.0, 0.0), (1.0, 1.0)), 4, 2) == ("  ⡠⠊", "⡠⠊  ")
    assert curve((), 3, 1) == ("   ",)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.integers(0, 60))
def test_portions_fill_the_width(shares: list[float], width: int) -> None:
    cells = portions(shares, width)
    assert sum(cells) == (width if sum(shares) > 0 else 0)
    assert all(cell == 0 for cell, share in zip(cells, shares, strict=True) if share == 0)
    if width >= len(shares):
        assert all(cell > 0 for cell, share in zip(cells, shares, strict=True) if share > 0)


def weeks(*speeds: float | None) -> tuple[WeekSpeed, ...]:
    return tuple(WeekSpeed(MONDAY + n * WEEK, 100, speed) for n, speed in enumerate(speeds))


def test_the_speed_curve_has_a_column_for_each_week_and_axes() -> None:
    lines = [line.plain for line in speed_curve(weeks(1.0, None, 1.5, 2.0), 26, 3)]
    assert lines == [
        "          ▁▁▁▁ ████  2.00×",
        "▁▁▁▁ ···· ████ ████     1×",
        "27 Oct        17 Nov",
    ]


def test_weeks_without_chats_keep_their_place_in_the_speed_curve() -> None:
    first, _, _, last = weeks(1.2, None, None, 1.4)
    lines = [line.plain for line in speed_curve((first, last), 26, 2)]
    assert lines[0].count("·") == 8, "two empty weeks"


@pytest.mark.parametrize("speeds", [(), (None,)])
def test_without_a_known_speed_the_curve_is_words(speeds: tuple[float | None, ...]) -> None:
    assert speed_curve(weeks(*speeds), 30, 4)[0].plain == "the speed of each week"


def test_more_weeks_than_cells_show_the_last_ones() -> None:
    lines = [line.plain for line in speed_curve(weeks(*[1.0] * 100, 2.0), 16, 2)]
    assert lines[0] == "▁▁▁▁▁▁▁▁▁█ 2.00×"
