"""The reliability table on streams whose truth is known."""

from __future__ import annotations

import random

import pytest

from sssd_chat.bench.calibration import Calibration
from sssd_chat.drafting import ROOT, DraftTree


def test_honest_probabilities_have_almost_no_error() -> None:
    chance = random.Random(0)
    calibration = Calibration()
    for _ in range(50_000):
        probability = chance.random()
        calibration.add(probability, chance.random() < probability)
    assert calibration.expected_error() < 0.02


def test_the_error_is_the_distance_from_the_truth() -> None:
    calibration = Calibration()
    for number in range(100):
        calibration.add(0.9, number < 60)
    assert calibration.expected_error() == pytest.approx(0.3)
    for _ in range(100):
        calibration.add(0.0, False)
    assert calibration.expected_error() == pytest.approx(0.15)


def test_an_empty_table_has_no_error() -> None:
    assert Calibration().expected_error() == 0.0


def test_a_node_below_a_refused_one_counts_as_refused() -> None:
    tree = DraftTree()
    first = tree.add(1, ROOT, 1.0, "x")
    tree.add(2, ROOT, 0.52, "x")
    tree.add(3, first, 0.31, "x")
    calibration = Calibration()
    calibration.add_step(tree, [first])
    table = [(place.count, place.accepted) for place in calibration.bins]
    assert table[19] == (1, 1)
    assert table[10] == (1, 0)
    assert table[6] == (1, 0)
    assert sum(count for count, _ in table) == 3
