from __future__ import annotations

import random

import pytest

from sssd_chat.drafting import DraftTree
from sssd_chat.generation.plan import Limits, plan_drafts
from tests.trees import random_tree


def random_drafts(rng: random.Random, count: int) -> list:
    drafts = []
    for _ in range(count):
        tree = random_tree(rng, rng.randrange(0, 12), 50)
        tree.probabilities = sorted((rng.random() for _ in range(len(tree))), reverse=True)
        drafts.append(tree)
    return drafts


@pytest.mark.parametrize("seed", range(200))
def test_no_other_sizes_would_give_more_tokens_a_second(seed: int) -> None:
    rng = random.Random(seed)
    drafts = random_drafts(rng, rng.randrange(1, 4))
    # Any staircase, falling in places.
    seconds = [0.0] + [rng.uniform(1, 3) + 0.2 * n for n in range(60)]
    planned = plan_drafts(drafts, seconds, Limits(100, 100))
    roots = len(drafts)

    def rate(nodes: list[float]) -> float:
        size = roots + len(nodes)
        return (roots + sum(nodes)) / min(seconds[size:])

    best = plain = rate([])
    ranked = sorted((p for tree in drafts for p in tree.probabilities), reverse=True)
    for count in range(len(ranked) + 1):
        best = max(best, rate(ranked[:count]))
    chosen = [p for tree in planned for p in tree.probabilities]
    # A gain of a few percent is not worth the risk.
    assert rate(chosen) == pytest.approx(best if best > 1.03 * plain else plain)
    for tree, draft in zip(planned, drafts, strict=True):
        tree.check_integrity()
        assert tree.tokens == draft.tokens[: len(tree)]


@pytest.mark.parametrize("seed", range(50))
def test_the_batch_has_no_more_branches_and_nodes_than_allowed(seed: int) -> None:
    rng = random.Random(seed)
    drafts = random_drafts(rng, rng.randrange(1, 5))
    flat = [0.0] + [1.0] * 60
    for most in (0, 1, 5):
        planned = plan_drafts(drafts, flat, Limits(most, 100))
        leaves = [set(range(len(tree))) - set(tree.parents) for tree in planned]
        assert sum(max(0, len(each) - 1) for each in leaves) <= most
        for fewer in (0, sum(map(len, planned)) // 2):
            cut = plan_drafts(drafts, flat, Limits(most, fewer))
            assert sum(map(len, cut)) <= fewer


def test_without_branches_every_draft_keeps_its_best_chain_begun() -> None:
    fork = DraftTree([1, 2, 3], [-1, -1, 0], [0.9, 0.8, 0.7], ["x"] * 3)
    chain = DraftTree([1, 2, 3], [-1, 0, 1], [0.9, 0.8, 0.7], ["x"] * 3)
    planned = plan_drafts([fork, chain], [0.0] + [1.0] * 20, Limits(0, 100))
    assert [len(tree) for tree in planned] == [1, 3]
