"""The memory of recurrent and hybrid models: chains, no longer than what can be taken back.

A recurrent state holds no single tokens, so nothing can be cut out of it. For some architectures
llama.cpp keeps the states after each of the last few tokens of a batch (llama_context_params.
n_rs_seq); its rules:

* llama_memory_seq_rm goes back to such a state, once for each batch, and no further than that
  batch. It does not look whether the state is one of the last batch: who asks must know.
* Only the state itself is kept of all that was before: a text cannot be shortened otherwise. So
  a copy of the state is made near the end of each prompt (a checkpoint, as large as the state),
  and the text can go back to there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sssd_chat.llama.batch import Batch
from sssd_chat.llama.memory import ROOT, Tree, erase, keep_path
from sssd_chat.llama.runtime import api
from sssd_chat.llama.sequence import Checkpoint, TargetSequence
from sssd_chat.llama.sequence_state import recurrent_state, set_recurrent_state
from sssd_chat.llama.shape import DraftShape

_LAST_TOKENS = 16
"""So many at the end of a prompt are not expected to be those of the next one."""


class ChainMemory:
    """See `sssd_chat.llama.memory.Memory` for the members without a docstring."""

    max_branches = 0
    least_shared: int | None = None

    def __init__(self, context: Any, states: int) -> None:
        """`context` is the llama_context, which keeps `states` earlier states of each text; with
        none of them there are no drafts."""
        self.shape = DraftShape.CHAINS if states else DraftShape.NONE
        self.max_draft = states
        self._lib = api()
        self._context = context
        self._memory = self._lib.llama_get_memory(context)

    def forget(self, sequence: TargetSequence) -> None:
        """See Memory."""
        erase(self._lib, self._memory, sequence.id, -1)
        sequence.tokens.clear()
        sequence.ahead_from = None
        sequence.can_go_back = 0
        sequence.checkpoint = None

    def rewind(self, sequence: TargetSequence, length: int) -> int:
        """See Memory: it can go back into what was decoded last, once, or to the checkpoint."""
        checkpoint = sequence.checkpoint
        back = len(sequence.tokens) - length
        can_step = length > 0 and back <= sequence.can_go_back
        if can_step and erase(self._lib, self._memory, sequence.id, length):
            kept = length
        elif checkpoint and checkpoint.length <= length and self._restore(sequence, checkpoint):
            kept = checkpoint.length
        else:
            self.forget(sequence)
            return 0
        sequence.can_go_back = 0
        del sequence.tokens[kept:]
        return kept

    def _restore(self, sequence: TargetSequence, checkpoint: Checkpoint) -> bool:
        taken = set_recurrent_state(self._lib, self._context, sequence.id, checkpoint.state)
        # The state is that of the place already; attention still holds what came after it.
        return taken and erase(self._lib, self._memory, sequence.id, checkpoint.length)

    def share(self, source: TargetSequence, sequence: TargetSequence, length: int) -> int:
        """See Memory: the state is that of the end of a text, and of no other place."""
        return len(sequence.tokens)

    def will_read(self, sequence: TargetSequence, count: int, left: int) -> None:
        """See Memory: a checkpoint is made once for each prompt, where its last tokens begin. The
        next prompt seldom shares those: templates leave out thinking, and questions change."""
        if not left < _LAST_TOKENS <= left + count or not sequence.tokens:
            return
        state = recurrent_state(self._lib, self._context, sequence.id)
        sequence.checkpoint = Checkpoint(len(sequence.tokens), state)

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
