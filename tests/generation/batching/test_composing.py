"""What a batch is expected to take, and so which drafts are in it."""

from __future__ import annotations

import random

import pytest

from sssd_chat.drafting import DraftTree
from sssd_chat.generation.batching.composing import beside_reads
from sssd_chat.generation.plan import Limits, plan_drafts

LIMITS = Limits(branches=100, nodes=100)


def chain(probabilities: list[float]) -> DraftTree:
    tree = DraftTree()
    for node, probability in enumerate(probabilities):
        tree.add(1, node - 1, probability, "any")
    return tree


@pytest.mark.parametrize("seed", range(30))
def test_beside_reads_a_node_costs_what_a_read_token_does(seed: int) -> None:
    rng = random.Random(seed)
    curve = sorted(rng.random() for _ in range(40))
    writers, per_token = rng.randint(1, 30), rng.random()
    seconds = beside_reads(curve, writers, per_token)
    assert len(seconds) == len(curve)
    assert seconds[: writers + 1] == curve[: writers + 1]
    for n in range(writers + 1, len(curve)):
        assert seconds[n] - seconds[n - 1] == pytest.approx(per_token)


@pytest.mark.parametrize("writers", [1, 4, 16])
def test_a_step_of_the_staircase_is_not_free_beside_reads(writers: int) -> None:
    # Up to 32 tokens cost the same, so that in a batch of its own any node pays.
    flat = [0.1] * 33 + [0.2] * 32
    drafts = [chain([0.5, 0.3]) for _ in range(writers)]
    assert sum(map(len, plan_drafts(drafts, flat, LIMITS))) == min(2 * writers, 32 - writers)
    # A token of a prompt takes as long as one of a plain batch: only a sure node would pay.
    beside = beside_reads(flat, writers, 0.1 / writers)
    assert sum(map(len, plan_drafts(drafts, beside, LIMITS))) == 0
    # Where reading is cheap, both are worth their time.
    cheap = beside_reads(flat, writers, 0.01 / writers)
    assert sum(map(len, plan_drafts(drafts, cheap, LIMITS))) == 2 * writers
