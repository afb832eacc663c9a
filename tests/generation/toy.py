"""A target without llama.cpp: the next token depends on the two before it, by a fixed table."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sssd_chat.drafting import ROOT, DraftTree, ObservedStep
from sssd_chat.llama.sampler import Logits
from sssd_chat.llama.shape import DraftShape
from sssd_chat.llama.target import CacheFull
from tests.trees import random_chain, random_tree

END = 0


@dataclass(slots=True)
class ToyState:
    """One text."""

    tokens: list[int] = field(default_factory=list)
    root: int = -1
    tree: DraftTree = field(default_factory=DraftTree)


class ToyVocabulary:
    """Tokens are letters; token 0 ends an answer if `can_end`."""

    pointer = None

    def __init__(self, size: int, can_end: bool = False, pieces: Sequence[bytes] = ()) -> None:
        self.size = size
        self._can_end = can_end
        self._pieces = pieces or [bytes([97 + n % 26]) for n in range(size)]

    def is_end_of_generation(self, token: int) -> bool:
        return self._can_end and token == END

    def piece(self, token: int, *, special: bool = False) -> bytes:
        return self._pieces[token]


class ToyTarget:
    """Checks, besides, that the engine keeps to the rules of a target."""

    shape = DraftShape.TREES

    def __init__(
        self,
        size: int,
        context: int = 1000,
        seed: int = 0,
        sharpness: float = 2.0,
        *,
        sequences: int = 100,
        cells: int | None = None,
        branches: int = 1000,
        least_shared: int | None = None,
        most_reads: int | None = None,
    ):
        self.size = size
        self.context_length = context
        self.cells = context * sequences if cells is None else cells
        self.max_sequences = sequences
        self.max_batch = 400
        self.max_draft = 100
        self.max_branches = branches
        self.least_shared = least_shared
        self.most_reads = most_reads
        self.open: list[ToyState] = []
        self.faults: list[Exception] = []
        """What the next decodes raise."""
        self.table = np.random.default_rng(seed).normal(0, sharpness, (size, size, size))
        self.batches: list[int] = []
        self.chunk = 16

    def open_sequence(self) -> ToyState:
        assert len(self.open) < self.max_sequences
        self.open.append(ToyState())
        return self.open[-1]

    def close_sequence(self, sequence: ToyState) -> None:
        self.open = [state for state in self.open if state is not sequence]
        sequence.tokens.clear()

    def rewind(self, sequence: ToyState, length: int) -> int:
        del sequence.tokens[length:]
        return len(sequence.tokens)

    def share(self, source: ToyState, sequence: ToyState, length: int) -> int:
        assert all(any(state is other for other in self.open) for state in (source, sequence))
        before = len(sequence.tokens)
        assert source is not sequence and sequence.tokens == source.tokens[:before]
        assert self.least_shared is not None and length - before >= self.least_shared
        sequence.tokens += source.tokens[before:length]
        return len(sequence.tokens)

    def prefill(
        self,
        sequence: ToyState,
        tokens: Sequence[int],
        on_progress: Callable[[int], bool] | None = None,
    ) -> bool:
        shared = 0
        for a, b in zip(sequence.tokens, tokens[:-1], strict=False):
            if a != b:
                break
            shared += 1
        sequence.tokens = list(tokens[:shared])
        while len(sequence.tokens) < len(tokens):
            if on_progress is not None and not on_progress(len(sequence.tokens)):
                return False
            done = len(sequence.tokens)
            sequence.tokens += tokens[done : done + self.chunk]
        sequence.tree = DraftTree()
        sequence.root = -1
        return True

    def verify(
        self,
        items: Sequence[tuple[ToyState, int, DraftTree]],
        padding: int = 0,
        reads: Sequence[tuple[ToyState, Sequence[int], bool]] = (),
    ) -> float:
        size = padding + sum(1 + len(tree) for _, _, tree in items)
        size += sum(len(tokens) for _, tokens, _ in reads)
        assert self.most_reads is None or len(reads) <= self.most_reads
        states = [state for state, *_ in [*items, *reads]]
        assert len({id(state) for state in states}) == len(states)
        assert all(any(state is other for other in self.open) for state in states)
        assert 0 < size <= self.max_batch
        assert sum(max(0, _leaves(tree) - 1) for _, _, tree in items) <= self.max_branches
        if self.faults:
            raise self.faults.pop(0)
        if sum(len(state.tokens) for state in self.open) + size > self.cells:
            raise CacheFull("The context is full.")
        for state, root, tree in items:
            tree.check_integrity()
            deepest = max(tree.depths(), default=0)
            assert len(state.tokens) + 1 + deepest <= self.context_length
            state.root, state.tree = root, tree
        for state, tokens, _ in reads:
            state.tokens += tokens
            state.root, state.tree = -1, DraftTree()
        self.batches.append(size)
        # Seconds, so that the time of the test itself counts for nothing beside them.
        return 1.0 + 0.05 * size

    def commit(self, sequence: ToyState, path: Sequence[int]) -> None:
        for parent, node in zip([ROOT, *path], path, strict=False):
            assert sequence.tree.parents[node] == parent
        assert sequence.root >= 0
        sequence.tokens += [sequence.root, *(sequence.tree.tokens[node] for node in path)]
        sequence.root, sequence.tree = -1, DraftTree()

    def logits(self, sequence: ToyState, node: int = ROOT) -> Logits:
        text = sequence.tokens[-2:]
        if sequence.root >= 0:
            text = [*sequence.tokens[-2:], sequence.root]
            text += [sequence.tree.tokens[n] for n in sequence.tree.path(node)]
        a, b = ([0, 0, *text])[-2:]
        return self.table[a, b].astype(np.float32)


def _leaves(tree: DraftTree) -> int:
    return len(tree) - len(set(tree.parents) - {ROOT})


class RandomDrafter:
    """Drafts anything at all, often the truth; keeps what it was told."""

    best_tokens_wanted = 3

    def __init__(self, seed: int, size: int, oracle: Callable[[list[int]], list[int]]) -> None:
        self.rng = random.Random(seed)
        self.size = size
        self.oracle = oracle
        self.text: list[int] = []
        self.steps: list[ObservedStep] = []

    def begin(self, tokens: Sequence[int]) -> None:
        self.text = list(tokens)

    def draft(
        self, budget: int, floor: float = 0.0, *, branches: bool = True, **limits: Any
    ) -> DraftTree:
        count = min(budget, self.rng.choice([0, 1, 4, 15]))
        draw = random_tree if branches else random_chain
        tree = draw(self.rng, count, self.size, self.oracle(self.text), 0.7)
        # High probabilities, so that the plan sends what was drafted.
        tree.probabilities = [0.99 - 0.001 * n for n in range(len(tree))]
        return tree

    def observe(self, step: ObservedStep) -> None:
        assert step.emitted[: len(step.path)] == [step.tree.tokens[n] for n in step.path]
        self.steps.append(step)
        self.text += step.emitted


def greedy_oracle(target: ToyTarget, length: int = 8) -> Callable[[list[int]], list[int]]:
    """What greedy decoding would write next."""

    def continuation(text: list[int]) -> list[int]:
        text = [0, 0, *text]
        result: list[int] = []
        for _ in range(length):
            token = int(target.table[text[-2], text[-1]].argmax())
            text.append(token)
            result.append(token)
        return result

    return continuation
