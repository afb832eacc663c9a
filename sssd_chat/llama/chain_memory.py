"""The memory of recurrent and hybrid models: chains, no longer than what can be taken back.

A recurrent state holds no single tokens, so nothing can be cut out of it. For some architectures
llama.cpp keeps the states after each of the last few tokens of a batch (llama_context_params.
n_rs_seq); its rules:

* llama_memory_seq_rm goes back to such a state, once for each batch, and no further than that
  batch. It does not look whether the state is one of the last batch: who asks must know.
* Only the state itself is kept of all that was before: a text cannot be shortened otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sssd_chat.llama.batch import Batch
from sssd_chat.llama.memory import ROOT, Tree, erase, keep_path
from sssd_chat.llama.runtime import api
from sssd_chat.llama.sequence import TargetSequence
from sssd_chat.llama.shape import DraftShape


class ChainMemory:
    """See `sssd_chat.llama.memory.Memory` for the members without a docstring."""

    max_branches = 0

    def __init__(self, memory: Any, states: int) -> None:
        """`memory` is the llama_memory_t, which keeps `states` earlier states of each text; with
        none of them there are no drafts."""
        self.shape = DraftShape.CHAINS if states else DraftShape.NONE
        self.max_draft = states
        self._lib = api()
        self._memory = memory

    def forget(self, sequence: TargetSequence) -> None:
        """See Memory."""
        erase(self._lib, self._memory, sequence.id, -1)
        sequence.tokens.clear()
        sequence.ahead_from = None
        sequence.can_go_back = 0

    def rewind(self, sequence: TargetSequence, length: int) -> int:
        """See Memory: it can go back into what was decoded last, once."""
        back = len(sequence.tokens) - length
        possible = length > 0 and back <= sequence.can_go_back
        if not possible or not erase(self._lib, self._memory, sequence.id, length):
            self.forget(sequence)
            return 0
        sequence.can_go_back = 0
        del sequence.tokens[length:]
        return length

    def has_read(self, sequence: TargetSequence, count: int) -> None:
        """See Memory."""
        sequence.can_go_back = min(count - 1, self.max_draft)

    def add_draft(
        self, batch: Batch, sequence: TargetSequence, root: int, tree: Tree, padding: int
    ) -> None:
        """See Memory. Raises ValueError for anything but a chain, or one that is too long."""
        tokens = tree.tokens + [root] * padding
        if len(tokens) > self.max_draft:
            raise ValueError(f"a draft may have at most {self.max_draft} nodes")
        if any(parent != node - 1 for node, parent in enumerate(tree.parents, ROOT + 1)):
            raise ValueError("this memory takes chains alone")
        length = len(sequence.tokens)
        sequence.root, sequence.nodes = root, tokens
        sequence.first_output = batch.add(root, length, [sequence.id], True)
        for node, token in enumerate(tokens):
            batch.add(token, length + 1 + node, [sequence.id], node < len(tree.tokens))

    def commit(self, sequence: TargetSequence, path: Sequence[int]) -> None:
        """See Memory."""
        refused = len(sequence.nodes) - len(path)
        sequence.can_go_back = 0 if refused else len(path)
        end = len(sequence.tokens) + 1 + len(path)
        keep_path(sequence, path)
        if refused and not erase(self._lib, self._memory, sequence.id, end):
            raise RuntimeError(f"llama.cpp could not take back {refused} tokens")
