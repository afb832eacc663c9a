"""SSSD as published (arXiv 2411.05894), with its constants, for comparison and tests."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sssd_chat.drafting.drafter import ObservedStep
from sssd_chat.drafting.source import Cursor, Source
from sssd_chat.drafting.sources.conversation import ConversationSource
from sssd_chat.drafting.tree import ROOT, DraftTree

WINDOW = 8
"""Tokens of text that one match spans, matched prefix included."""
LONGEST_QUERY = 4
MOST_CHILDREN = 5
SAMPLES = 100
"""Matches read from the datastore in all."""
ENOUGH_SAMPLES = 50
"""From this many on, no shorter suffix is looked up."""
SIZES = ((1, 32), (4, 22), (8, 16), (16, 8), (32, 4), (48, 3), (64, 2))
"""Batch of live sequences, and tokens a sequence gets in one step, root included."""


def published_size(sequences: int) -> int:
    """Tokens that each of `sequences` live sequences gets in one step, root included."""
    return next((size for batch, size in SIZES if sequences <= batch), 1)


@dataclass(slots=True)
class _PromptMatch:
    """A match of `matched` tokens in the conversation, followed `depth` tokens below the root."""

    origin: str
    cursor: Cursor
    matched: int
    depth: int
    ratios: float
    """Product of the count ratios on the way."""

    def children(self) -> Iterator[tuple[int, float, _PromptMatch]]:
        """Token, probability of the path to it, and the match continued there."""
        length = self.matched + self.depth
        if length >= WINDOW:
            return
        counts = _counts(self.cursor, length)
        total = sum(counts.values())
        for token, count in counts.items():
            ratios = self.ratios * count / total
            probability = 0.6 * ratios * (0.6 + 0.1 * self.matched) ** self.depth
            cursor = self.cursor.advance(token)
            child = _PromptMatch(self.origin, cursor, self.matched, self.depth + 1, ratios)
            yield token, probability, child


@dataclass(slots=True)
class _StoreMatch:
    """Sampled matches of several lengths in the datastore, followed to `depth`.

    A sample of n of the N places of a match holds each continuation n/N times as often as the
    store does; that expected count stands for the sample, so nothing depends on chance.
    """

    origin: str
    cursor: Cursor
    scales: dict[int, float]
    """Length of the matched suffix to n/N."""
    depth: int
    samples: float
    """Expected number of samples that agree with the path."""
    ratios: float

    def children(self) -> Iterator[tuple[int, float, _StoreMatch]]:
        """Token, probability of the path to it, and the samples that go on there."""
        weights: dict[int, float] = {}
        for matched, scale in self.scales.items():
            if matched + self.depth < WINDOW:
                for token, count in _counts(self.cursor, matched + self.depth).items():
                    weights[token] = weights.get(token, 0.0) + scale * count
        for token, weight in weights.items():
            ratios = self.ratios * min(1.0, weight / self.samples)
            cursor = self.cursor.advance(token)
            child = _StoreMatch(self.origin, cursor, self.scales, self.depth + 1, weight, ratios)
            yield token, ratios, child


_AnyMatch = _PromptMatch | _StoreMatch


def _counts(cursor: Cursor, length: int) -> dict[int, int]:
    """What followed the match of exactly `length` tokens."""
    counts: dict[int, int] = {}
    for match in cursor.matches():
        if match.length < length:
            break
        counts = match.counts
    return counts


class ReferenceDrafter:
    """The published drafter: fixed probabilities, one heap, windows of eight tokens."""

    best_tokens_wanted = 0

    def __init__(self, datastore: Source | None = None) -> None:
        """`datastore` is searched beside the conversation when given."""
        self._conversation = ConversationSource(WINDOW - 1)
        self._datastore = datastore

    def begin(self, tokens: Sequence[int]) -> None:
        """See Drafter."""
        self._conversation.begin(tokens)

    def observe(self, step: ObservedStep) -> None:
        """See Drafter."""
        self._conversation.extend(step.emitted)

    def draft(
        self,
        budget: int,
        floor: float = 0.0,
        *,
        branches: bool = True,
        depth: int | None = None,
    ) -> DraftTree:
        """See Drafter."""
        tree = DraftTree()
        nodes: dict[tuple[int, int], int] = {}
        children: dict[int, int] = {}
        depths = {ROOT: 0}
        heap: list[tuple[float, int, int, int, _AnyMatch]] = []
        most_children = MOST_CHILDREN if branches else 1
        order = 0
        for match in self._matches() if depth != 0 else ():
            for token, probability, below in match.children():
                heapq.heappush(heap, (-probability, order, ROOT, token, below))
                order += 1
        while heap:
            falling, _, parent, token, match = heapq.heappop(heap)
            if -falling < floor:
                break
            node = nodes.get((parent, token))
            if node is None:
                if len(tree) == budget:
                    break
                if children.get(parent, 0) == most_children:
                    continue
                children[parent] = children.get(parent, 0) + 1
                node = nodes[parent, token] = tree.add(token, parent, -falling, match.origin)
            depths[node] = depths[parent] + 1
            if depths[node] == depth:
                continue
            for next_token, probability, below in match.children():
                heapq.heappush(heap, (-probability, order, node, next_token, below))
                order += 1
        return tree

    def _matches(self) -> Iterator[_AnyMatch]:
        tokens = self._conversation.tokens
        cursor = self._conversation.cursor(tokens)
        for matched in range(1, LONGEST_QUERY + 1):
            yield _PromptMatch(self._conversation.name, cursor, matched, 0, 1.0)
        if self._datastore is not None:
            yield from _sampled(self._datastore, tokens)


def _sampled(datastore: Source, tokens: Sequence[int]) -> Iterator[_StoreMatch]:
    """The matches of the longest suffixes, nothing when the datastore knows none."""
    cursor = datastore.cursor(tokens)
    scales: dict[int, float] = {}
    samples = 0
    for length in range(LONGEST_QUERY, 0, -1):
        total = sum(_counts(cursor, length).values())
        if not total:
            continue
        taken = min(total, SAMPLES - samples)
        scales[length] = taken / total
        samples += taken
        if samples >= ENOUGH_SAMPLES:
            break
    if samples:
        yield _StoreMatch(datastore.name, cursor, scales, 0, samples, 1.0)
