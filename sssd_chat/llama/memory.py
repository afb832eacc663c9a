"""What the target asks of the memory in which llama.cpp keeps texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from sssd_chat.llama.batch import Batch
from sssd_chat.llama.sequence import TargetSequence
from sssd_chat.llama.shape import DraftShape

ROOT = -1
"""Parent of the nodes that follow the last committed token."""


class Tree(Protocol):
    """What `Target.verify` reads of a draft; drafting's DraftTree fits."""

    tokens: list[int]
    parents: list[int]


class Memory(Protocol):
    """Texts in the memory of a context: how drafts are put into a batch, and what can be taken
    back. `TreeMemory` and `ChainMemory` are the two kinds."""

    shape: DraftShape
    max_draft: int
    """Most nodes of a draft, its padding included."""
    max_branches: int
    """Most leaves of all drafts of a batch, beyond the first of each."""
    least_shared: int | None
    """From so many tokens on, `share` is sooner done than reading them; None where it cannot."""

    def forget(self, sequence: TargetSequence) -> None:
        """Takes the whole text out of the memory."""

    def rewind(self, sequence: TargetSequence, length: int) -> int:
        """Shortens a text to at most `length` tokens, fewer than it has; returns the length that
        could be kept: less where the memory cannot go back to any place, 0 at the worst."""

    def share(self, source: TargetSequence, sequence: TargetSequence, length: int) -> int:
        """Gives `sequence`, whose text begins the first `length` tokens of `source`, the others of
        these, without decoding. Returns the length it has then: what it had where it cannot."""

    def will_read(self, sequence: TargetSequence, count: int, left: int) -> None:
        """The next `count` tokens of a prompt are about to be decoded, and `left` more of it are
        known."""

    def has_read(self, sequence: TargetSequence, count: int) -> None:
        """The last `count` tokens of the text were just decoded, as part of a prompt."""

    def add_draft(
        self, batch: Batch, sequence: TargetSequence, root: int, tree: Tree, padding: int
    ) -> None:
        """Puts the root, the draft, and `padding` useless tokens of a text into a batch. Raises
        ValueError when the draft is larger than the memory can take back."""

    def commit(self, sequence: TargetSequence, path: Sequence[int]) -> None:
        """Keeps the root and the nodes of `path` of the draft that was decoded last, and takes
        every other node out of the memory."""


def keep_path(sequence: TargetSequence, path: Sequence[int]) -> None:
    """Notes in the text itself that the root and the nodes of `path` belong to it."""
    sequence.tokens.append(sequence.root)
    sequence.tokens.extend([sequence.nodes[node] for node in path])
    sequence.parents, sequence.nodes, sequence.ids = [], [], []


def erase(lib: Any, memory: Any, sequence: int, first: int) -> bool:
    """Takes the tokens from position `first` on out of a sequence (llama_memory_seq_rm); False
    when the memory cannot."""
    return bool(lib.llama_memory_seq_rm(memory, sequence, first, -1))
