from __future__ import annotations

import random

import pytest

from sssd_chat.generation.guard import DraftGuard

OVERHEAD = 0.03
"""Of a plain step, which takes 1."""


def run(gain: float, steps: int, seed: int = 0) -> tuple[DraftGuard, float, int]:
    """Drafted steps take 2 and emit 2 · gain tokens on average; returns the guard, the time lost
    against plain decoding, and the tokens."""
    guard = DraftGuard()
    rng = random.Random(seed)
    seconds, tokens = 0.0, 0
    for _ in range(steps):
        if guard.allows:
            emitted = 1 + (rng.random() < 2 * gain - 1)
            guard.observe(4, emitted, 2.0, OVERHEAD, 1.0)
            seconds += 2.0 + OVERHEAD
        else:
            emitted = 1
            guard.observe(0, 1, 1.0, 0.0, 1.0)
            seconds += 1.0
        tokens += emitted
    return guard, seconds - tokens, tokens


@pytest.mark.parametrize("seed", range(20))
def test_drafts_that_lose_time_are_soon_given_up(seed: int) -> None:
    _, lost, tokens = run(0.6, 3000, seed)
    assert lost / tokens < 0.05


def test_looking_in_vain_is_given_up_too() -> None:
    """No draft is ever worth sending, yet the search costs time."""
    guard = DraftGuard()
    searched = 0
    for _ in range(2000):
        searched += guard.allows
        guard.observe(0, 1, 1.0, OVERHEAD if guard.allows else 0.0, 1.0)
    assert searched < 400


def test_drafts_that_gain_go_on() -> None:
    guard = DraftGuard()
    for _ in range(500):
        assert guard.allows
        guard.observe(8, 4, 2.0, OVERHEAD, 1.0)
    assert not guard.is_quiet


def test_a_slow_machine_is_not_taken_for_a_loss() -> None:
    """Plain steps that happen to be slow say nothing about drafts that gain."""
    guard = DraftGuard()
    for step in range(500):
        assert guard.allows
        if step % 3:
            guard.observe(0, 1, 5.0, OVERHEAD, 1.0)
        else:
            guard.observe(8, 4, 2.0, OVERHEAD, 1.0)


def test_a_rest_ends_and_drafts_are_tried_again() -> None:
    guard = DraftGuard()
    while guard.allows:
        guard.observe(8, 1, 2.0, OVERHEAD, 1.0)
    rested = 0
    while not guard.allows:
        guard.observe(0, 1, 1.0, 0.0, 1.0)
        rested += 1
    assert 10 < rested < 100
    for _ in range(100):
        guard.observe(8, 4, 2.0, OVERHEAD, 1.0)
        assert guard.allows


def test_a_new_answer_begins_awake() -> None:
    guard = DraftGuard()
    while guard.allows:
        guard.observe(8, 1, 2.0, OVERHEAD, 1.0)
    guard.wake()
    assert guard.allows


def test_nothing_is_judged_before_the_plain_step_is_known() -> None:
    guard = DraftGuard()
    for _ in range(100):
        guard.observe(8, 1, 2.0, OVERHEAD, None)
        assert guard.allows


def test_steps_without_a_draft_are_shown_as_off_after_a_while() -> None:
    guard = DraftGuard()
    for _ in range(15):
        guard.observe(0, 1, 1.0, 0.0, 1.0)
    assert not guard.is_quiet
    guard.observe(0, 1, 1.0, 0.0, 1.0)
    assert guard.is_quiet
    guard.observe(3, 2, 1.5, 0.0, 1.0)
    assert not guard.is_quiet


def test_a_step_that_is_passed_over_counts_for_nothing_but_waiting() -> None:
    guard = DraftGuard()
    guard.observe(8, 4, 2.0, OVERHEAD, 1.0)
    assert guard.pays
    for waited in range(1, 40):
        guard.pass_over()
        assert not guard.allows
        guard.observe(0, 1, 1.0, 0.0, 1.0)
        assert guard.allows and guard.pays
        assert guard.waited == waited
    guard.observe(8, 1, 4.0, OVERHEAD, 1.0)
    assert not guard.pays
    assert guard.waited == 0
