"""The target model with its KV cache: prompts are read, trees verified, accepted paths kept.

The rules by which llama.cpp verifies a tree in one batch (llama_batch, llama_memory_*):

* Every path from the root to a leaf is one sequence id; a node belongs to the ids of all leaves
  below it, at the position of its depth. Attention then sees exactly the ancestors.
* A sequence id must own the whole prefix before it can go on from there.

The committed text owns one id, and the first leaf uses that one too. Further leaves borrow ids
("branches") that lag behind: each remembers how much of the prefix it owns and catches up when it
is needed again. So a step without a draft, or with a chain, costs no bookkeeping at all, and no
step costs more than its own branches.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sssd_chat.llama.batch import MAX_SEQUENCES, Batch
from sssd_chat.llama.chunks import Chunks
from sssd_chat.llama.context import ContextSettings, make_context
from sssd_chat.llama.model import Model
from sssd_chat.llama.runtime import api, build_features, llama_version, physical_cores
from sssd_chat.llama.sampler import Logits
from sssd_chat.llama.sequence import Branch, TargetSequence
from sssd_chat.llama.sequence_state import Buffer, set_state, state_bytes, state_size

DEFAULT_CONTEXT = 8192
"""Tokens of context when neither the user nor the model asks for fewer."""

_ROOT = -1
_IDS_PER_SEQUENCE = 64
# Paths through one tree; llama.cpp keeps a row of logits for each, 0.6 MB at 150,000 tokens.
_BATCH_TOKENS = 512
_SMALL_MODEL = 1_000_000_000
"""Parameters; up to here a chunk of 128 tokens is read in about a second on a CPU."""


class DecodeError(Exception):
    """llama.cpp could not decode a batch."""


@dataclass(frozen=True, slots=True)
class TargetSettings:
    """How the target runs."""

    context_length: int | None = None
    """Tokens of each conversation; None for what the model was trained for, at most
    DEFAULT_CONTEXT."""
    threads: int | None = None
    """None for the number of physical cores."""
    sequences: int = 1
    """Conversations that can be alive at once."""
    reads_ahead: bool = False
    """Whether prompts are to be read while they are typed: their beginnings are then read in
    smaller chunks, with `read_ahead` and without."""


class Tree(Protocol):
    """What `Target.verify` reads of a draft; drafting's DraftTree fits."""

    tokens: list[int]
    parents: list[int]


class Target:
    """A model together with a context in which trees can be verified."""

    def __init__(self, model: Model, settings: TargetSettings | None = None) -> None:
        """Makes the context. Raises UserError when it cannot be had."""
        settings = settings or TargetSettings()
        self.model = model
        self._api = api()
        self.threads = settings.threads or physical_cores()
        usual = min(model.trained_context or DEFAULT_CONTEXT, DEFAULT_CONTEXT)
        self.context_length = settings.context_length or usual
        """Tokens of one sequence that fit, prompt and answer together."""
        model.check_context(self.context_length, settings.sequences)
        self.can_verify_trees = model.can_roll_back
        self._max_sequences = settings.sequences
        self._chunks = Chunks(self._chunk_size, settings.reads_ahead and not model.on_gpu)
        self._ids = settings.sequences
        if self.can_verify_trees:
            self._ids = min(MAX_SEQUENCES, _IDS_PER_SEQUENCE * settings.sequences)
        self._context = make_context(
            model,
            ContextSettings(
                self.context_length,
                settings.sequences,
                self._ids,
                _BATCH_TOKENS,
                self.threads,
                is_unified=self.can_verify_trees,
            ),
        )
        self._memory = self._api.llama_get_memory(self._context)
        self._batch = Batch(_BATCH_TOKENS)
        self._free_ids = list(reversed(range(self._ids)))
        self._open = 0
        self._logits_type = ctypes.c_float * model.vocabulary.size

    def close(self) -> None:
        """Frees the context; the model stays."""
        if self._context:
            self._api.llama_free(self._context)
            self._context = None

    @property
    def max_draft(self) -> int:
        """Most nodes that a tree may have."""
        return _BATCH_TOKENS - 1 if self.can_verify_trees else 0

    @property
    def max_leaves(self) -> int:
        """Most leaves that the tree of one sequence may have; one more path is for padding."""
        return self._ids // self._max_sequences - 1

    @property
    def _chunk_size(self) -> int:
        if self.model.on_gpu:
            return _BATCH_TOKENS
        return 128 if self.model.parameters <= _SMALL_MODEL else 64

    # Sequences

    def open_sequence(self) -> TargetSequence:
        """A new, empty text. Raises RuntimeError when all are in use."""
        if self._open >= self._max_sequences:
            raise RuntimeError(f"all {self._max_sequences} sequences are in use")
        self._open += 1
        return TargetSequence(self._free_ids.pop())

    def close_sequence(self, sequence: TargetSequence) -> None:
        """Takes a text out of the cache."""
        self._forget(sequence)
        self._free_ids.append(sequence.id)
        self._open -= 1

    def _forget(self, sequence: TargetSequence) -> None:
        self._api.llama_memory_seq_rm(self._memory, sequence.id, -1, -1)
        for branch in sequence.branches:
            self._api.llama_memory_seq_rm(self._memory, branch.id, -1, -1)
            self._free_ids.append(branch.id)
        sequence.branches.clear()
        sequence.used.clear()
        sequence.tokens.clear()
        sequence.ahead_from = None

    def rewind(self, sequence: TargetSequence, length: int) -> int:
        """Shortens a text to at most `length` tokens; returns the length that could be kept: 0
        where the memory cannot go back that far (recurrent state, attention window)."""
        if length >= len(sequence.tokens):
            return len(sequence.tokens)
        remove = self._api.llama_memory_seq_rm
        if length <= 0 or not self._window_is_whole(sequence, length):
            self._forget(sequence)
            return 0
        if not remove(self._memory, sequence.id, length, -1):
            self._forget(sequence)
            return 0
        for branch in sequence.branches:
            if branch.owned > length:
                remove(self._memory, branch.id, length, -1)
                branch.owned = length
        del sequence.tokens[length:]
        return length

    def _window_is_whole(self, sequence: TargetSequence, length: int) -> bool:
        # A sliding window lets llama.cpp reuse the cells of tokens that moved out of it. A batch
        # may free cells out of order, hence the margin of one batch.
        if not self.model.window:
            return True
        first: int = self._api.llama_memory_seq_pos_min(self._memory, sequence.id)
        return first == 0 or first + _BATCH_TOKENS <= length - self.model.window

    # Reading a prompt

    def prefill(
        self,
        sequence: TargetSequence,
        tokens: Sequence[int],
        on_progress: Callable[[int], bool] | None = None,
    ) -> bool:
        """Makes `tokens` (at least one) the text of the sequence and computes the logits of the
        last one, as `logits(sequence)` gives them. What the text shares with the one before is
        not read again.

        The prompt is read in chunks. `on_progress` is called between them with the tokens read;
        when it returns False, reading stops, what was read stays, and the result is False. Raises
        ValueError when the tokens do not fit.
        """
        if not 0 < len(tokens) <= self.context_length:
            raise ValueError(f"{len(tokens)} tokens do not fit into {self.context_length}")
        # The last token is always read: its logits are wanted.
        start, done = self._rewind_to_border(sequence, tokens, len(tokens) - 1)
        while done < len(tokens):
            if on_progress is not None and not on_progress(done):
                return False
            part = tokens[done : done + self._chunks.at(done - start)]
            done += self._read(sequence, part, done, len(tokens))
        sequence.ahead_from = None
        sequence.first_output = len(self._batch) - 1
        if on_progress is not None:
            on_progress(done)
        return True

    def read_ahead(
        self, sequence: TargetSequence, tokens: Sequence[int], keep_going: Callable[[], bool]
    ) -> int:
        """Reads the beginning of a prompt that is still being made, in whole chunks: the chunks
        that `prefill` will make of it, so that the logits are the same with and without. What is
        left of the last chunk waits for `prefill`. `keep_going` is asked before each chunk.
        Returns the tokens of the text that are there."""
        end = min(len(tokens), self.context_length)
        there = self._border(sequence, tokens, end)
        begun = sequence.ahead_from
        start = there if begun is None else min(begun, there)
        if end - there < self._chunks.at(there - start) or not keep_going():
            return there
        start, done = self._rewind_to_border(sequence, tokens, end)
        while end - done >= (size := self._chunks.at(done - start)) and keep_going():
            done += self._read(sequence, tokens[done : done + size], done, -1)
        return done

    def _rewind_to_border(
        self, sequence: TargetSequence, tokens: Sequence[int], most: int
    ) -> tuple[int, int]:
        """Shortens the text to a border; where the chunks of the prompt begin, and the length."""
        done = self.rewind(sequence, self._border(sequence, tokens, most))
        start = done if sequence.ahead_from is None else min(sequence.ahead_from, done)
        sequence.ahead_from = start
        return start, done

    def _border(self, sequence: TargetSequence, tokens: Sequence[int], most: int) -> int:
        """How much of the text in the cache is the beginning of `tokens`, at most `most`. In what
        was read of a prompt that is not complete only borders of chunks count."""
        shared = min(_common_prefix(sequence.tokens, tokens), most)
        start = sequence.ahead_from
        if start is None or shared <= start:
            return shared
        return start + self._chunks.border(shared - start)

    def _read(
        self, sequence: TargetSequence, part: Sequence[int], position: int, total: int
    ) -> int:
        """Decodes a part of a prompt; with the last of its `total` tokens, logits are computed."""
        self._batch.clear()
        self._batch.add_run(part, position, sequence.id, last=position + len(part) == total)
        self._decode()
        sequence.tokens.extend(part)
        return len(part)

    # The state of a text, to be kept outside

    @property
    def state_kind(self) -> str:
        """What a kept state depends on besides the model file: it fits contexts of this kind."""
        shape = (self.context_length, self.can_verify_trees, self.model.on_gpu)
        return f"{shape} {llama_version()} {build_features()}"

    def state_size(self, sequence: TargetSequence) -> int:
        """Bytes that `save_state` would give."""
        return state_size(self._api, self._context, sequence.id)

    def save_state(self, sequence: TargetSequence) -> memoryview:
        """The KV state of the text as bytes; empty when it cannot be had."""
        return state_bytes(self._api, self._context, sequence.id)

    def load_state(self, sequence: TargetSequence, tokens: Sequence[int], state: Buffer) -> bool:
        """Makes `tokens` the text by the state that `save_state` gave for it, instead of reading
        it; False, and an empty text, when llama.cpp does not take the state. The bytes must be
        known to be whole and of this `state_kind`."""
        self._forget(sequence)
        if len(tokens) > self.context_length:
            return False
        if not set_state(self._api, self._context, sequence.id, state):
            self._forget(sequence)
            return False
        sequence.tokens.extend(tokens)
        return True

    # A step

    def verify(self, items: Sequence[tuple[TargetSequence, int, Tree]], padding: int = 0) -> float:
        """Decodes, in one batch, the root and the draft of each (sequence, root token, tree).

        `padding` tokens more are put into the batch, without use but to fill it: a larger batch
        may be faster. Afterwards `logits` gives the target's logits at every node, until the next
        decode, and each sequence waits for `commit`. Returns the seconds that llama_decode took.
        Raises ValueError for a tree with more than `max_leaves` leaves or a batch that is too
        large, DecodeError when llama.cpp fails.
        """
        self._batch.clear()
        for number, (sequence, root, tree) in enumerate(items):
            self._add_tree(sequence, root, tree, padding if number == 0 else 0)
        return self._decode()

    def _add_tree(self, sequence: TargetSequence, root: int, tree: Tree, padding: int) -> None:
        size = len(tree.tokens)
        parents, tokens = tree.parents, tree.tokens
        if padding:
            # A chain of its own from the root: one more path, never accepted.
            parents = [*parents, _ROOT, *range(size, size + padding - 1)]
            tokens = tokens + [root] * padding
        length = len(sequence.tokens)
        ids, leaves = self._assign_ids(sequence, parents)
        sequence.root, sequence.parents, sequence.nodes = root, parents, tokens
        sequence.ids = ids
        sequence.first_output = self._batch.add(root, length, leaves, True)
        depths: list[int] = []
        for node, (token, parent) in enumerate(zip(tokens, parents, strict=True)):
            depth = 1 if parent == _ROOT else depths[parent] + 1
            depths.append(depth)
            self._batch.add(token, length + depth, ids[node], node < size)

    def _assign_ids(
        self, sequence: TargetSequence, parents: list[int]
    ) -> tuple[list[list[int]], list[int]]:
        """Sequence ids of every node and of the root; branches catch up with the text."""
        sequence.used = []
        has_child = [False] * len(parents)
        for parent in parents:
            if parent != _ROOT:
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
            (root_ids if parent == _ROOT else ids[parent]).extend(ids[node])
        return ids, root_ids or [sequence.id]

    def _borrow(self, sequence: TargetSequence, number: int) -> int:
        if number == len(sequence.branches):
            if not self._free_ids:
                raise ValueError(f"a tree may have at most {self.max_leaves} leaves")
            sequence.branches.append(Branch(self._free_ids.pop(), 0))
        branch = sequence.branches[number]
        length = len(sequence.tokens)
        if branch.owned < length:
            self._api.llama_memory_seq_cp(
                self._memory, sequence.id, branch.id, branch.owned, length
            )
            branch.owned = length
        sequence.used.append(branch)
        return branch.id

    def commit(self, sequence: TargetSequence, path: Sequence[int]) -> None:
        """Keeps the root and the nodes of `path` (indices, root's child first) of the last
        verified tree, and takes every other node out of the cache."""
        lib, memory = self._api, self._memory
        old = len(sequence.tokens)
        new = old + 1 + len(path)
        kept_ids = sequence.ids[path[-1]] if path else [sequence.id]
        if sequence.parents:
            if sequence.id in kept_ids:
                lib.llama_memory_seq_rm(memory, sequence.id, new, -1)
            else:
                lib.llama_memory_seq_rm(memory, sequence.id, old + 1, -1)
                lib.llama_memory_seq_cp(memory, kept_ids[0], sequence.id, old + 1, new)
            for branch in sequence.used:
                lib.llama_memory_seq_rm(memory, branch.id, old + 1, -1)
                branch.owned = old + 1
        sequence.used = []
        sequence.tokens.append(sequence.root)
        sequence.tokens.extend([sequence.nodes[node] for node in path])
        sequence.parents, sequence.nodes, sequence.ids = [], [], []

    def logits(self, sequence: TargetSequence, node: int = _ROOT) -> Logits:
        """The target's logits after a node of the last batch; a view, shape (vocabulary size,),
        valid until the next decode (llama_get_logits_ith)."""
        index = sequence.first_output + node + 1
        pointer = self._api.llama_get_logits_ith(self._context, index)
        address = ctypes.addressof(pointer.contents)
        return np.frombuffer(memoryview(self._logits_type.from_address(address)), dtype=np.float32)

    def _decode(self) -> float:
        started = time.perf_counter()
        status: int = self._api.llama_decode(self._context, self._batch.as_llama_batch())
        # The backend may compute behind llama_decode; the step's cost is measured to its end.
        self._api.llama_synchronize(self._context)
        seconds = time.perf_counter() - started
        if status != 0:
            raise DecodeError(
                "The context is full."
                if status == 1
                else f"llama.cpp could not decode a batch of {len(self._batch)} (code {status})."
            )
        return seconds


def _common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    shared = min(len(left), len(right))
    if list(left[:shared]) == list(right[:shared]):
        return shared
    return next(i for i in range(shared) if left[i] != right[i])
