from __future__ import annotations

import pytest

from sssd_chat.generation.cost import StepCost
from sssd_chat.generation.probe import probe
from tests.conftest import LoadTiny
from tests.generation.toy import ToyTarget


class SlowTarget(ToyTarget):
    """Says that a step takes a tenth of a second and more."""

    def verify(self, items, padding=0):  # type: ignore[no-untyped-def]
        return 100 * super().verify(items, padding)


def test_every_size_is_measured_when_there_is_time(load_tiny: LoadTiny) -> None:
    loaded = load_tiny(context=512)
    cost = StepCost(129)
    assert probe(loaded.target, cost, seconds=30) == len(cost.measured_sizes())
    assert {1, 2, 4, 16, 64, 129} <= cost.measured_sizes()
    # The cache is as empty as before: the whole context can be used.
    sequence = loaded.target.open_sequence()
    loaded.target.prefill(sequence, [5] * 512)


def test_without_time_nothing_is_measured() -> None:
    cost = StepCost(129)
    assert probe(ToyTarget(5), cost, seconds=-1) == 0
    assert not cost.is_known


def test_what_is_known_least_comes_first() -> None:
    cost = StepCost(64)
    for _ in range(9):
        cost.observe(1, 10, 0.1)
        cost.observe(4, 10, 0.2)
    target = SlowTarget(5)
    probe(target, cost, seconds=60)
    # Each slow size once, in the order of worth; the well-known ones not at all.
    assert target.batches[:2] == [2, 16]
    assert 1 not in target.batches and 4 not in target.batches


@pytest.mark.parametrize("context", [2, 3, 46, 60, 100])
def test_a_small_context_is_probed_within_its_bounds(context: int) -> None:
    cost = StepCost(129)
    probe(ToyTarget(5, context=context), cost, seconds=5)
    assert max(cost.measured_sizes(), default=0) <= context
