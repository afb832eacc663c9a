from __future__ import annotations

import random

from sssd_chat.generation.guard import DraftGuard


def run(gain: float, steps: int, seed: int = 0) -> tuple[DraftGuard, float, int]:
    """Drafted steps cost 2 plain ones and emit 2 · gain tokens on average; returns the guard, the
    time lost against plain decoding in plain steps, and the tokens."""
    guard = DraftGuard()
    rng = random.Random(seed)
    seconds, tokens = 0.0, 0
    for _ in range(steps):
        if guard.allows:
            emitted = 1 + (rng.random() < 2 * gain - 1)
            guard.observe(4, emitted, 2.0, 1.0)
            seconds += 2.0
        else:
            emitted = 1
            guard.observe(0, 1, 1.0, 1.0)
            seconds += 1.0
        tokens += emitted
    return guard, seconds - tokens, tokens


def test_drafts_that_lose_time_are_soon_given_up() -> None:
    for seed in range(20):
        _, lost, tokens = run(0.6, 3000, seed)
        assert lost / tokens < 0.03


def test_drafts_that_gain_go_on() -> None:
    guard = DraftGuard()
    for _ in range(500):
        assert guard.allows
        guard.observe(8, 4, 2.0, 1.0)
    assert not guard.is_quiet


def test_a_rest_ends_and_drafts_are_tried_again() -> None:
    guard = DraftGuard()
    while guard.allows:
        guard.observe(8, 1, 2.0, 1.0)
    rested = 0
    while not guard.allows:
        guard.observe(0, 1, 1.0, 1.0)
        rested += 1
    assert 10 < rested < 100
    for _ in range(100):
        guard.observe(8, 4, 2.0, 1.0)
        assert guard.allows


def test_steps_without_a_draft_are_shown_as_off_after_a_while() -> None:
    guard = DraftGuard()
    for _ in range(15):
        guard.observe(0, 1, 1.0, 1.0)
    assert not guard.is_quiet
    guard.observe(0, 1, 1.0, 1.0)
    assert guard.is_quiet
    guard.observe(3, 2, 1.5, 1.0)
    assert not guard.is_quiet
