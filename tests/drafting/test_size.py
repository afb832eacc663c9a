"""Sizes by cost, against trying everything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.drafting.size import best_size, floor, padded_sizes

costs = st.lists(st.floats(0.1, 100), min_size=2, max_size=20).map(lambda times: [0.0, *times])
chances = st.lists(st.floats(0, 1), max_size=24).map(lambda found: sorted(found, reverse=True))


@given(costs)
def test_padding_is_to_the_cheapest_size_that_holds_the_batch(cost: list[float]) -> None:
    for size, padded in enumerate(padded_sizes(cost)[1:], 1):
        assert padded >= size
        assert cost[padded] == min(cost[size:])


@given(chances, costs)
def test_no_other_size_has_a_better_rate(probabilities: list[float], cost: list[float]) -> None:
    def rate(nodes: int) -> float:
        return (1 + sum(probabilities[:nodes])) / min(cost[nodes + 1 :])

    size = best_size(probabilities, cost)
    most = min(len(probabilities), len(cost) - 2)
    assert 0 <= size <= most
    assert rate(size) == pytest.approx(max(rate(nodes) for nodes in range(most + 1)))


def test_a_staircase_is_used_to_the_edge_of_a_step() -> None:
    cost = [0.0, 75, 106, 135, 117, 149, 176]
    assert best_size([0.4, 0.2, 0.1, 0.05], cost) == 3
    assert best_size([0.3, 0.1, 0.1, 0.05], cost) == 0
    assert padded_sizes(cost)[3] == 4


@given(costs)
def test_a_floor_is_a_probability_or_out_of_reach(cost: list[float]) -> None:
    assert floor(cost) >= 0


def test_floors_of_typical_machines() -> None:
    flat = [1 + 0.004 * size for size in range(33)]
    assert floor(flat) == pytest.approx(0.002, rel=0.01)
    proportional = [0.0, *(10.0 * size for size in range(1, 9))]
    assert floor(proportional) == pytest.approx(0.5)
    assert floor([0.0, 1.0]) == 1.0


def test_the_more_sequences_share_a_batch_the_surer_a_node_must_be() -> None:
    flat = [0.0] + [1 + 0.004 * n for n in range(1, 200)]
    floors = [floor(flat, roots) for roots in (1, 4, 16, 64)]
    assert floors == sorted(floors)
    # A node under the floor never pays: the plain step of so many roots is faster.
    for roots, least in zip((1, 4, 16, 64), floors, strict=True):
        for nodes in (1, 10, 100):
            assert (roots + nodes * least) / flat[roots + nodes] < roots / flat[roots]


def test_without_room_for_a_draft_nothing_is_drafted() -> None:
    assert best_size([0.9, 0.8], [0.0, 1.0]) == 0
    assert best_size([], [0.0, 1.0, 1.0]) == 0
