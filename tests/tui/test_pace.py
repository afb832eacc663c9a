"""How often the screen is drawn."""

from __future__ import annotations

from sssd_chat.tui.pace import Pace


class Times:
    """Clocks that are set by hand, in seconds."""

    def __init__(self) -> None:
        self.now = 100.0
        self.worked = 5.0
        self.pace = Pace(lambda: self.now, lambda: self.worked)

    def draws(self, seconds: float, cost: float) -> int:
        """How often it is drawn in this time, if a draw costs so much."""
        drawn = 0
        for _ in range(round(seconds / 0.01)):
            self.now += 0.01
            if self.pace.due():
                drawn += 1
                self.worked += cost
        return drawn


def test_what_costs_nothing_is_drawn_each_time() -> None:
    assert Times().draws(1.0, 0.0) == 100


def test_drawing_takes_little_of_a_time_that_is_scarce() -> None:
    drawn = Times().draws(10.0, 0.004)
    assert 0.02 <= drawn * 0.004 / 10 <= 0.03


def test_drawing_takes_more_where_the_engine_leaves_a_processor() -> None:
    times = Times()
    times.pace.is_scarce = False
    assert 0.2 <= times.draws(10.0, 0.01) * 0.01 / 10 <= 0.25
    times.pace.typed()
    assert times.draws(0.4, 0.01) <= 2


def test_the_screen_never_stands_still_for_long() -> None:
    assert 24 <= Times().draws(10.0, 1.0) <= 25


def test_a_key_comes_first() -> None:
    times = Times()
    times.pace.typed()
    times.now += 0.03
    assert not times.pace.due()
    times.now += 0.02
    assert times.pace.due()


def test_keys_that_come_all_the_time_do_not_hide_the_answer() -> None:
    times = Times()
    drawn = 0
    for _ in range(100):
        times.now += 0.02
        times.pace.typed()
        drawn += times.pace.due()
    assert 2 <= drawn <= 5
