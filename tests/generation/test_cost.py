from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from sssd_chat.generation.cost import StepCost

STAIRCASE = {1: 75, 2: 106, 3: 135, 4: 117, 6: 176, 8: 214, 12: 274, 16: 271, 32: 480, 64: 784}


def learned(curve: dict[int, float] = STAIRCASE, context: int = 100) -> StepCost:
    cost = StepCost(128)
    for size, milliseconds in curve.items():
        cost.observe(size, context, milliseconds / 1e3)
    return cost


def test_measured_sizes_are_kept_and_others_lie_between() -> None:
    seconds = learned().seconds(100)
    for size, milliseconds in STAIRCASE.items():
        assert seconds[size] == pytest.approx(milliseconds / 1e3)
    assert 0.117 < seconds[5] < 0.176
    assert len(seconds) == 129
    # Past the last size the curve goes on as it did before.
    assert seconds[128] == pytest.approx(0.784 + 64 * (0.784 - 0.480) / 32)


def test_noise_is_averaged_and_a_hiccup_moves_little() -> None:
    cost = StepCost(8)
    rng = random.Random(1)
    for _ in range(300):
        cost.observe(4, 100, 0.1 * rng.uniform(0.8, 1.2))
    assert cost.seconds(100)[4] == pytest.approx(0.1, rel=0.1)
    cost.observe(4, 100, 100.0)
    for _ in range(8):
        cost.observe(4, 100, 0.1)
    assert cost.seconds(100)[4] < 0.12


def test_a_first_measurement_on_a_busy_machine_is_soon_forgotten() -> None:
    cost = StepCost(8)
    for seconds in (0.6, 0.25, 0.26):
        cost.observe(8, 100, seconds)
    assert cost.seconds(100)[8] < 0.27


def test_a_machine_that_changes_is_followed() -> None:
    cost = learned()
    for _ in range(60):
        cost.observe(1, 100, 0.2)
    assert cost.plain(100) == pytest.approx(0.2, rel=0.05)


def test_another_context_length_starts_from_the_nearest_and_is_learned_apart() -> None:
    cost = learned()
    assert cost.plain(100_000) == pytest.approx(0.075)
    for _ in range(10):
        cost.observe(1, 5000, 0.150)
    assert cost.plain(100) == pytest.approx(0.075)
    assert cost.plain(5000) == pytest.approx(0.150)
    # What is known of one size there scales the others.
    assert cost.seconds(5000)[4] == pytest.approx(2 * 0.117)


def test_nothing_known_is_said_to_be_unknown() -> None:
    cost = StepCost(16)
    assert cost.plain(10) is None
    assert not cost.is_known
    assert len(cost.seconds(10)) == 17


def test_with_one_size_known_a_second_is_believed_cheap_enough_to_try() -> None:
    seconds = learned({1: 100}).seconds(100)
    assert seconds[1] == 0.1
    assert 0.1 < seconds[2] < 0.15


def test_padding_goes_to_the_cheaper_larger_batch() -> None:
    cost = learned()
    assert cost.padded(3, 100) == 4
    assert cost.padded(4, 100) == 4
    assert cost.padded(12, 100) == 16
    assert cost.padded(1000, 100) == 1000


def test_the_floor_is_below_every_node_that_pays() -> None:
    cost = learned()
    # The flattest stretch from the plain step is (784 - 75) / 63 a node, over 75; half of it, for
    # weak nodes that fill a step of the stairs.
    assert 0.05 < cost.floor(100) < 0.1


def test_kept_and_read_again(tmp_path: Path) -> None:
    cost = learned()
    path = tmp_path / "a" / "cost.json"
    cost.save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert StepCost.load(path, 128).seconds(100) == cost.seconds(100)
    assert StepCost.load(path, 128).measured_sizes() == set(STAIRCASE)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"version": 99}',
        b'{"version": 1}',
        b'{"version": 1, "buckets": [{}]}',
        b'{"version": 1, "buckets": 3}',
        b"\xff\x00",
    ],
)
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cost.json"
    path.write_bytes(content)
    assert not StepCost.load(path, 128).is_known


def test_any_change_of_the_file_gives_a_usable_estimate(tmp_path: Path) -> None:
    path = tmp_path / "cost.json"
    learned().save(path)
    whole = path.read_bytes()
    rng = random.Random(3)
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(rng.randrange(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        path.write_bytes(damaged)
        cost = StepCost.load(path, 128)
        assert len(cost.seconds(100)) == 129
        assert cost.floor(100) >= 0
        json.dumps(cost.seconds(100))
