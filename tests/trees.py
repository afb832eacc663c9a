"""Random drafts for tests."""

from __future__ import annotations

import random
from collections.abc import Sequence

from sssd_chat.drafting import ROOT, DraftTree


def random_tree(
    rng: random.Random,
    size: int,
    vocabulary: int,
    truth: Sequence[int] = (),
    chance: float = 0.6,
) -> DraftTree:
    """A tree of up to `size` nodes of any shape. With `chance` a node holds the true token of
    its depth: truth[0] follows the root."""
    tree = DraftTree()
    depths: list[int] = []
    taken: set[tuple[int, int]] = set()
    shape = rng.choice(["bushy", "chain", "any"])
    for number in range(size):
        if shape == "chain" and number:
            parent = number - 1 if number - 1 < len(tree) else len(tree) - 1
        elif shape == "bushy" and rng.random() < 0.7:
            parent = ROOT
        else:
            parent = rng.randrange(-1, len(tree))
        depth = 1 if parent == ROOT else depths[parent] + 1
        if depth <= len(truth) and rng.random() < chance:
            token = truth[depth - 1]
        else:
            token = rng.randrange(vocabulary)
        if (parent, token) in taken:
            continue
        taken.add((parent, token))
        tree.add(token, parent, 1.0 / (number + 2), rng.choice(["conversation", "datastore"]))
        depths.append(depth)
    return tree


def random_chain(
    rng: random.Random,
    size: int,
    vocabulary: int,
    truth: Sequence[int] = (),
    chance: float = 0.8,
) -> DraftTree:
    """A path of `size` nodes. With `chance` a node holds the true token of its depth."""
    tree = DraftTree()
    for depth in range(size):
        right = depth < len(truth) and rng.random() < chance
        token = truth[depth] if right else rng.randrange(vocabulary)
        tree.add(token, depth - 1 if depth else ROOT, 1.0 / (depth + 2), "conversation")
    return tree
