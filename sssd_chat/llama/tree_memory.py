"""The memory of models that have attention alone: any tree can be verified in one batch.

The rules of llama.cpp (llama_batch, llama_memory_*):

* Every path from the root to a leaf is one sequence id; a node belongs to the ids of all leaves
  below it, at the position of its depth. Attention then sees exactly the ancestors.
* A sequence id must own the whole prefix before it can go on from there.

The committed text owns one id, and the first leaf uses that one too. Further leaves borrow ids
("branches") that lag behind: each remembers how much of the prefix it owns and catches up when it
is needed again. All texts share them: a text keeps those it used until another one needs them. So a
step without a draft, or with a chain, costs no bookkeeping at all, and no step costs more than its
own branches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sssd_chat.llama.batch import Batch
from sssd_chat.llama.memory import ROOT, Tree, erase, keep_path
from sssd_chat.llama.runtime import api
from sssd_chat.llama.sequence import Branch, TargetSequence
from sssd_chat.llama.shape import DraftShape

_LEAST_SHARED = 32
"""Reading fewer tokens is not worth the waiting for another text that reads them."""
_LEAST_COPIED = 64
"""The same where all cells of a text are copied, used or not."""


class TreeMemory:
    """See `sssd_chat.llama.memory.Memory` for the members without a docstring."""

    def __init__(
        self,
        memory: Any,
        branch_ids: list[int],
        batch_tokens: int,
        window: int,
        is_unified: bool = True,
    ) -> None:
        """`memory` is the llama_memory_t. `branch_ids` are free for branches, one of them for
        padding; without any there are only chains. `window` is the size of the model's attention
        window, 0 for none. `is_unified` tells whether all texts share the cells."""
        self.least_shared: int | None = _LEAST_SHARED if is_unified else _LEAST_COPIED
        self.shape = DraftShape.TREES if branch_ids else DraftShape.CHAINS
        self.max_branches = max(0, len(branch_ids) - 1)
        self.max_draft = batch_tokens - 1
        self._lib = api()
        self._memory = memory
        self._free_ids = branch_ids
        self._borrowers: dict[int, TargetSequence] = {}
        """The texts that have branches, by their own ids."""
        self._batch_tokens = batch_tokens
        self._window = window
        self._is_unified = is_unified

    def forget(self, sequence: TargetSequence) -> None:
        """See Memory."""
        erase(self._lib, self._memory, sequence.id, -1)
        for branch in sequence.branches:
            erase(self._lib, self._memory, branch.id, -1)
            self._free_ids.append(branch.id)
        self._borrowers.pop(sequence.id, None)
        sequence.branches.clear()
        sequence.used.clear()
        sequence.tokens.clear()
        sequence.ahead_from = None

    def rewind(self, sequence: TargetSequence, length: int) -> int:
        """See Memory."""
        possible = length > 0 and self._window_is_whole(sequence, length)
        if not possible or not erase(self._lib, self._memory, sequence.id, length):
            self.forget(sequence)
            return 0
        for branch in sequence.branches:
            if branch.owned > length:
                erase(self._lib, self._memory, branch.id, length)
                branch.owned = length
        del sequence.tokens[length:]
        return length

    def _window_is_whole(self, sequence: TargetSequence, length: int) -> bool:
        # A sliding window lets llama.cpp reuse the cells of tokens that moved out of it. A batch
        # may free cells out of order, hence the margin of one batch.
        if not self._window:
            return True
        first = self._first(sequence.id)
        return first == 0 or first + self._batch_tokens <= length - self._window

    def _first(self, sequence_id: int) -> int:
        """The first position whose cells are all there."""
        return int(self._lib.llama_memory_seq_pos_min(self._memory, sequence_id))

    def share(self, source: TargetSequence, sequence: TargetSequence, length: int) -> int:
        """See Memory: the same cells belong to both texts. Where each text has its own part of the
        cells, llama.cpp copies the whole part, of which the end is given up again."""
        owned = len(sequence.tokens)
        if length <= owned or not self._window_is_whole(source, length):
            return owned
        if self._window or not self._is_unified:
            self.forget(sequence)
            owned = 0
        end = length if self._is_unified else -1
        self._lib.llama_memory_seq_cp(self._memory, source.id, sequence.id, owned or -1, end)
        if not self._is_unified:
            erase(self._lib, self._memory, sequence.id, length)
        sequence.tokens.extend(source.tokens[owned:length])
        return length

    def will_read(self, sequence: TargetSequence, count: int, left: int) -> None:
        """See Memory: nothing to note."""

    def has_read(self, sequence: TargetSequence, count: int) -> None:
        """See Memory: nothing to note."""

    def add_draft(
        self, batch: Batch, sequence: TargetSequence, root: int, tree: Tree, padding: int
    ) -> None:
        """See Memory. Raises ValueError when there are too few branches for it."""
        size = len(tree.tokens)
        parents, tokens = tree.parents, tree.tokens
        if padding:
            # A chain of its own from the root: one more path, never accepted. A chain grows longer.
            first = ROOT if self.shape is DraftShape.TREES else size - 1
            parents = [*parents, first, *range(size, size + padding - 1)]
            tokens = tokens + [root] * padding
        length = len(sequence.tokens)
        ids, leaves = self._assign_ids(sequence, parents)
        sequence.root, sequence.parents, sequence.nodes = root, parents, tokens
        sequence.ids = ids
        sequence.first_output = batch.add(root, length, leaves, True)
        depths: list[int] = []
        for node, (token, parent) in enumerate(zip(tokens, parents, strict=True)):
            depth = 1 if parent == ROOT else depths[parent] + 1
            depths.append(depth)
            batch.add(token, length + depth, ids[node], node < size)

    def _assign_ids(
        self, sequence: TargetSequence, parents: list[int]
    ) -> tuple[list[list[int]], list[int]]:
        """Sequence ids of every node and of the root; branches catch up with the text."""
        sequence.used = []
        has_child = [False] * len(parents)
        for parent in parents:
            if parent != ROOT:
                has_child[parent] = True
        ids: list[list[int]] = [[] for _ in parents]
        root_ids: list[int] = []
        leaf_number = 0
        for node in range(len(parents) - 1, -1, -1):
            if not has_child[node]:
                ids[node].append(
                    sequence.id if leaf_number == 0 else self._borrow(sequence, leaf_number - 1)
                )
                leaf_number += 1
            parent = parents[node]
            (root_ids if parent == ROOT else ids[parent]).extend(ids[node])
        return ids, root_ids or [sequence.id]

    def _borrow(self, sequence: TargetSequence, number: int) -> int:
        if number == len(sequence.branches):
            if not self._free_ids:
                self._take_back_branch()
            sequence.branches.append(Branch(self._free_ids.pop(), 0))
            self._borrowers[sequence.id] = sequence
        branch = sequence.branches[number]
        length = len(sequence.tokens)
        if self._window and branch.owned and self._first(branch.id) != self._first(sequence.id):
            # The text lost cells that its window had left; llama.cpp wants both to begin alike.
            erase(self._lib, self._memory, branch.id, -1)
            branch.owned = 0
        if branch.owned < length:
            self._lib.llama_memory_seq_cp(
                self._memory, sequence.id, branch.id, branch.owned, length
            )
            branch.owned = length
        sequence.used.append(branch)
        return branch.id

    def _take_back_branch(self) -> None:
        """Frees an id that a text borrowed for an earlier batch."""
        for lender in self._borrowers.values():
            if len(lender.branches) > len(lender.used):
                branch = lender.branches.pop()
                erase(self._lib, self._memory, branch.id, -1)
                self._free_ids.append(branch.id)
                return
        raise ValueError(
            f"the drafts of a batch may have at most {self.max_branches} leaves beyond the first "
            "of each"
        )

    def commit(self, sequence: TargetSequence, path: Sequence[int]) -> None:
        """See Memory."""
        old = len(sequence.tokens)
        new = old + 1 + len(path)
        kept_ids = sequence.ids[path[-1]] if path else [sequence.id]
        if sequence.parents:
            if sequence.id in kept_ids:
                erase(self._lib, self._memory, sequence.id, new)
            else:
                erase(self._lib, self._memory, sequence.id, old + 1)
                self._lib.llama_memory_seq_cp(self._memory, kept_ids[0], sequence.id, old + 1, new)
            for branch in sequence.used:
                erase(self._lib, self._memory, branch.id, old + 1)
                branch.owned = old + 1
        sequence.used = []
        keep_path(sequence, path)
