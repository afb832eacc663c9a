"""Decoding with drafts beside decoding without, for tests of the target."""

from __future__ import annotations

import numpy as np

from sssd_chat.drafting import ROOT, DraftTree
from sssd_chat.llama.sequence import TargetSequence
from sssd_chat.llama.target import Target
from tests.tiny_models import Architecture

ROUNDING = 0.15
"""Batched kernels round differently; a token too many or too few moves logits by 1 and more in
these models (0.09 at the very least for a far token)."""
FLIP = 1.5
"""Where rounding decides between two experts, the logits of that place jump, in a mixture of
experts alone and hardly ever."""


def check_rounding(differences: list[float], architecture: Architecture) -> None:
    """What differs is rounding: always, or but for a rare flip of an expert."""
    if architecture.has_experts:
        flips = sum(difference >= ROUNDING for difference in differences)
        assert flips <= 1 + len(differences) // 200
        assert max(differences) < FLIP
    else:
        assert max(differences) < ROUNDING


def plain_run(
    target: Target, sequence: TargetSequence, prompt: list[int], count: int
) -> tuple[list[int], list[np.ndarray]]:
    """Greedy decoding one token at a time: the tokens, and the logits that gave each."""
    target.rewind(sequence, 0)
    target.prefill(sequence, prompt)
    logits = [target.logits(sequence).copy()]
    tokens = [int(logits[0].argmax())]
    while len(tokens) < count:
        target.verify([(sequence, tokens[-1], DraftTree())])
        logits.append(target.logits(sequence).copy())
        tokens.append(int(logits[-1].argmax()))
        target.commit(sequence, [])
    return tokens, logits


def walk(tree: DraftTree, truth: list[int]) -> list[int]:
    """The nodes of the tree that agree with the true continuation."""
    path: list[int] = []
    parent = ROOT
    for token in truth:
        children = [
            node
            for node in range(len(tree))
            if tree.parents[node] == parent and tree.tokens[node] == token
        ]
        if not children:
            break
        parent = children[0]
        path.append(parent)
    return path


class Reports:
    """Keeps what a progress callback is told."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def __call__(self, done: int) -> bool:
        self.seen.append(done)
        return True


def distances(
    target: Target, sequence: TargetSequence, path: list[int], expected: list[np.ndarray]
) -> list[float]:
    """How far root and accepted nodes are from what plain decoding saw."""
    return [
        float(np.abs(target.logits(sequence, node) - logits).max())
        for node, logits in zip([ROOT, *path], expected, strict=False)
    ]
