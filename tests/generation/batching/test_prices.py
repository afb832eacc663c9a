"""What a batch is expected to take, and so which drafts are in it."""

from __future__ import annotations

import random

import pytest

from sssd_chat.drafting import DraftTree
from sssd_chat.generation.batching.prices import Prices, beside_reads
from sssd_chat.generation.cost import StepCost
from sssd_chat.generation.plan import Limits, plan_drafts

LIMITS = Limits(branches=100, nodes=100)


def chain(probabilities: list[float]) -> DraftTree:
    tree = DraftTree()
    for node, probability in enumerate(probabilities):
        tree.add(1, node - 1, probability, "any")
    return tree


def measured(seconds: dict[int, float], largest: int = 80) -> StepCost:
    cost = StepCost(largest)
    for size, each in seconds.items():
        cost.observe(size, 1, each)
    return cost


@pytest.mark.parametrize("seed", range(30))
def test_beside_reads_each_node_costs_the_same_and_no_less_than_a_read_token(seed: int) -> None:
    rng = random.Random(seed)
    curve = sorted(rng.random() for _ in range(40))
    writers, read = rng.randint(1, 30), rng.random() / 40
    seconds = beside_reads(curve, writers, read)
    assert len(seconds) == len(curve)
    assert seconds[: writers + 1] == curve[: writers + 1]
    price = max(read, (curve[39] - curve[writers]) / (39 - writers))
    for n in range(writers + 1, len(curve)):
        assert seconds[n] - seconds[n - 1] == pytest.approx(price)


@pytest.mark.parametrize("writers", [1, 4, 16])
def test_a_step_of_the_staircase_is_not_free_beside_reads(writers: int) -> None:
    # Up to 32 tokens cost the same, so that in a batch of its own any node pays.
    flat = [0.1] * 33 + [0.2] * 32
    drafts = [chain([0.5, 0.3]) for _ in range(writers)]
    assert sum(map(len, plan_drafts(drafts, flat, LIMITS))) == min(2 * writers, 32 - writers)
    # A token of a prompt takes as long as one of a plain batch: only a sure node would pay.
    beside = beside_reads(flat, writers, 0.1 / writers)
    assert sum(map(len, plan_drafts(drafts, beside, LIMITS))) == 0
    # Where all of it is cheap, both are worth their time.
    cheap = beside_reads([0.1] * 65, writers, 0.01 / writers)
    assert sum(map(len, plan_drafts(drafts, cheap, LIMITS))) == 2 * writers


def test_where_nobody_reads_or_writes_the_measured_curve_counts() -> None:
    prices = Prices(cost := measured({1: 1.0, 2: 1.1, 40: 5.0}))
    prices.learn_reading(10, 2.0)
    assert prices.seconds(1, 2, reads=False) is cost.seconds(1)
    assert prices.seconds(1, 0, reads=True) is cost.seconds(1)
    assert prices.seconds(1, 2, reads=True)[3] == pytest.approx(1.1 + 0.2)


def test_a_token_that_few_could_draft_is_cheap_when_all_write() -> None:
    # One root takes 1.0, eight take 1.6 together: 0.2 each.
    prices = Prices(measured({1: 1.0, 8: 1.6, 80: 6.4}))
    prices.learn_reading(10, 1.0)
    seconds = prices.seconds(1, 1, reads=True)
    draft = chain([0.5])
    assert len(plan_drafts([draft], seconds, LIMITS)[0]) == 1
    alone = prices.worth(seconds, 1, 1, live=1)
    assert len(plan_drafts([draft], alone, LIMITS)[0]) == 1
    # Beside seven that read, half a token for 0.1 is not less than it costs later.
    among = prices.worth(seconds, 1, 1, live=8)
    assert among[1] == pytest.approx(0.2)
    assert len(plan_drafts([draft], among, LIMITS)[0]) == 0
    assert len(plan_drafts([chain([0.99])], among, LIMITS)[0]) == 1


def test_a_token_never_counts_for_more_than_it_costs_now() -> None:
    # A machine on which large batches are no help.
    prices = Prices(measured({1: 1.0, 8: 12.0}))
    seconds = prices.seconds(1, 1, reads=True)
    assert prices.worth(seconds, 1, 1, live=8) is seconds


def test_the_price_of_reading_is_learned_and_never_nothing() -> None:
    prices = Prices(measured({1: 1.0}))
    assert prices.read_seconds is None
    prices.learn_reading(4, -1.0)
    assert prices.read_seconds is not None and prices.read_seconds > 0
    for _ in range(200):
        prices.learn_reading(4, 2.0)
    assert prices.read_seconds == pytest.approx(0.5)
    # One bad moment moves it little.
    prices.learn_reading(4, 2000.0)
    assert prices.read_seconds < 0.75
