"""How the sections of the panel share the lines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.tui.widgets.panel.layout import Wish, plan

heights = st.lists(st.integers(1, 9), min_size=1, max_size=4, unique=True).map(
    lambda found: tuple(sorted(found))
)
wishes = st.lists(heights, min_size=1, max_size=8).flatmap(
    lambda steps: st.permutations(range(len(steps))).map(
        lambda ranks: [Wish(rank, step) for rank, step in zip(ranks, steps, strict=True)]
    )
)


@given(wishes, st.integers(0, 80), st.integers(0, 2))
def test_sections_fit_and_the_important_ones_come_first(
    given: list[Wish], room: int, between: int
) -> None:
    heights = plan(given, room, between)
    assert sum(height + between for height in heights if height) <= room
    for wish, height in zip(given, heights, strict=True):
        assert height == 0 or height in wish.heights
    shown = [wish.rank for wish, height in zip(given, heights, strict=True) if height]
    left_out = [wish.rank for wish, height in zip(given, heights, strict=True) if not height]
    assert not shown or not left_out or max(shown) < min(left_out)


@given(wishes)
def test_with_all_the_room_there_is_everything_is_at_its_largest(given: list[Wish]) -> None:
    assert plan(given, 1000, 1) == [wish.heights[-1] for wish in given]


def test_all_come_in_before_any_grows() -> None:
    assert plan([Wish(0, (1, 5)), Wish(1, (1, 5))], 5, 0) == [1, 1]
    assert plan([Wish(0, (1, 5)), Wish(1, (1, 5))], 6, 0) == [5, 1]
    assert plan([Wish(1, (1, 5)), Wish(0, (1, 5))], 6, 0) == [1, 5]
