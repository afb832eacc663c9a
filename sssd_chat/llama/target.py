"""The target model with its memory of texts: prompts are read, drafts verified, accepted paths
kept. How a draft is put into a batch is the memory's affair: `tree_memory`, `chain_memory`.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sssd_chat.llama.batch import MAX_SEQUENCES, Batch
from sssd_chat.llama.chain_memory import ChainMemory
from sssd_chat.llama.chunks import Chunks
from sssd_chat.llama.context import ContextSettings, make_context
from sssd_chat.llama.kv_cache import USUAL_CACHE, CacheSettings
from sssd_chat.llama.memory import ROOT, Memory, Tree
from sssd_chat.llama.model import Model
from sssd_chat.llama.recurrent import states_kept
from sssd_chat.llama.runtime import api, build_features, llama_version, physical_cores
from sssd_chat.llama.sampler import Logits
from sssd_chat.llama.sequence import TargetSequence
from sssd_chat.llama.sequence_state import Buffer, set_state, state_bytes, state_size
from sssd_chat.llama.shape import DraftShape
from sssd_chat.llama.tree_memory import TreeMemory

DEFAULT_CONTEXT = 8192
"""Tokens of context when neither the user nor the model asks for fewer."""

_IDS_PER_SEQUENCE = 64
# Paths through one tree; llama.cpp keeps a row of logits for each, 0.6 MB at 150,000 tokens.
_BATCH_TOKENS = 512
_NO_CELLS = 1
"""What llama_decode returns when it finds no cells for a batch."""
STREAMS_FROM = 32
"""With so many texts on a CPU, attention that passes over the cells of all others costs more than
trees and shared cells are worth; see docs/batching.md."""
_SMALL_MODEL = 1_000_000_000
"""Parameters; up to here a chunk of 128 tokens is read in about a second on a CPU."""


class DecodeError(Exception):
    """llama.cpp could not decode a batch."""


class CacheFull(DecodeError):
    """There were not enough free cells for a batch; the cache is as it was before."""


def usual_context(trained: int) -> int:
    """Tokens of context where nobody chose, of a model trained for `trained`, 0 where unknown."""
    return min(trained or DEFAULT_CONTEXT, DEFAULT_CONTEXT)


@dataclass(frozen=True, slots=True)
class TargetSettings:
    """How the target runs."""

    context_length: int | None = None
    """Tokens of each conversation; None for what the model was trained for, at most
    DEFAULT_CONTEXT."""
    threads: int | None = None
    """For one token at a time; None for the number of physical cores."""
    sequences: int = 1
    """Conversations that can be alive at once."""
    cells: int | None = None
    """Tokens that all conversations together may hold; None for `context_length` each."""
    is_streamed: bool | None = None
    """Whether each conversation has its own part of the cells: attention then looks at no others,
    drafts are chains, and drafts of different lengths are decoded one after the other. None for
    what is faster, where `cells` leaves the choice."""
    reads_ahead: bool = False
    """Whether prompts are to be read while they are typed: their beginnings are then read in
    smaller chunks, with `read_ahead` and without."""
    threads_batch: int | None = None
    """For prompts and drafts; None for as many as `threads`."""
    cache: CacheSettings = USUAL_CACHE


class Target:
    """A model together with a context in which trees can be verified."""

    def __init__(self, model: Model, settings: TargetSettings | None = None) -> None:
        """Makes the context. Raises UserError when it cannot be had."""
        settings = settings or TargetSettings()
        self.model = model
        self._api = api()
        self.threads = settings.threads or physical_cores()
        self._cache = settings.cache
        self.context_length = settings.context_length or usual_context(model.trained_context)
        """Tokens of one sequence that fit, prompt and answer together."""
        self.cells = settings.cells or self.context_length * settings.sequences
        """Tokens of all sequences together that fit."""
        is_unified = model.can_roll_back and not self._is_streamed(settings)
        self._is_unified = is_unified
        most = self.cells if is_unified else self.cells // settings.sequences
        self.context_length = min(self.context_length, most)
        model.check_context(self.context_length, self.cells, settings.cache, settings.sequences)
        self.max_sequences = settings.sequences
        """Texts that can be open at once."""
        self._chunks = Chunks(self._chunk_size, settings.reads_ahead and not model.on_gpu)
        ids = settings.sequences
        if is_unified:
            # More ids than cells end the process.
            most = min(MAX_SEQUENCES, self.cells)
            ids = max(ids, min(most, _IDS_PER_SEQUENCE * settings.sequences))
        self._context = make_context(
            model,
            ContextSettings(
                self.context_length,
                self.cells,
                ids,
                _BATCH_TOKENS,
                self.threads,
                settings.threads_batch or self.threads,
                settings.cache,
                texts=settings.sequences if is_unified else 1,
                is_unified=is_unified,
                states_kept=states_kept(model.header, settings.sequences),
            ),
        )
        self._free_ids = list(reversed(range(settings.sequences)))
        self._memory = self._memory_of(list(range(settings.sequences, ids)), is_unified)
        self._batch = Batch(_BATCH_TOKENS)
        self._logits_type = ctypes.c_float * model.vocabulary.size

    def _is_streamed(self, settings: TargetSettings) -> bool:
        if settings.is_streamed is not None:
            return settings.is_streamed
        is_many = settings.sequences >= STREAMS_FROM and not self.model.on_gpu
        return is_many and settings.cells is None

    def _memory_of(self, branch_ids: list[int], is_unified: bool) -> Memory:
        if self.model.can_roll_back:
            memory = self._api.llama_get_memory(self._context)
            return TreeMemory(memory, branch_ids, _BATCH_TOKENS, self.model.window, is_unified)
        # What the context really keeps, not what was asked for.
        return ChainMemory(self._context, self._api.llama_n_rs_seq(self._context))

    def set_threads(self, threads: int, threads_batch: int) -> None:
        """Computes with other numbers of threads from now on."""
        self.threads = threads
        self._api.llama_set_n_threads(self._context, threads, threads_batch)

    def close(self) -> None:
        """Frees the context; the model stays."""
        if self._context:
            self._api.llama_free(self._context)
            self._context = None

    @property
    def shape(self) -> DraftShape:
        """What drafts may look like."""
        return self._memory.shape

    @property
    def can_rewind(self) -> bool:
        """Whether a text can be shortened to any length; `rewind` tells what became of it."""
        return self.model.can_roll_back

    @property
    def max_draft(self) -> int:
        """Most nodes that a draft may have, its padding included; 0 where there are no drafts."""
        return self._memory.max_draft

    @property
    def max_batch(self) -> int:
        """Most tokens of one batch."""
        return _BATCH_TOKENS

    @property
    def max_branches(self) -> int:
        """Most leaves of all drafts of a batch together, beyond the first of each."""
        return self._memory.max_branches

    @property
    def least_shared(self) -> int | None:
        """From so many tokens on, `share` is sooner done than reading; None where it cannot."""
        return self._memory.least_shared

    @property
    def most_reads(self) -> int | None:
        """Prompts that a batch may read without being decoded in many passes; None for any number.
        Where each text has its own cells, llama.cpp takes together what has the same number of
        tokens and neighbouring ids (llama_batch_allocr::split_equal): of one prompt two passes
        are made, of several with writers between them as many as there are gaps."""
        return None if self._is_unified else 1

    @property
    def _chunk_size(self) -> int:
        if self.model.on_gpu:
            return _BATCH_TOKENS
        return 128 if self.model.parameters <= _SMALL_MODEL else 64

    # Sequences

    def open_sequence(self) -> TargetSequence:
        """A new, empty text. Raises RuntimeError when all are in use."""
        if not self._free_ids:
            raise RuntimeError(f"all {self.max_sequences} sequences are in use")
        return TargetSequence(self._free_ids.pop())

    def close_sequence(self, sequence: TargetSequence) -> None:
        """Takes a text out of the cache."""
        self._memory.forget(sequence)
        self._free_ids.append(sequence.id)

    def rewind(self, sequence: TargetSequence, length: int) -> int:
        """Shortens a text to at most `length` tokens; returns the length that could be kept: less
        where the memory cannot go back to any place (recurrent state), 0 where it cannot go back
        that far (attention window)."""
        if length >= len(sequence.tokens):
            return len(sequence.tokens)
        return self._memory.rewind(sequence, length)

    def share(self, source: TargetSequence, sequence: TargetSequence, length: int) -> int:
        """Makes the first `length` tokens of `source` the text of `sequence`, without reading them;
        its own text must be a beginning of these. Returns the length it has then: what it had where
        the memory cannot (recurrent state, attention window). Raises ValueError for a `sequence`
        whose text is another one."""
        if sequence.tokens != source.tokens[: len(sequence.tokens)] or source is sequence:
            raise ValueError("only the beginning of another text can be shared")
        sequence.ahead_from = None
        return self._memory.share(source, sequence, min(length, len(source.tokens)))

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
            last = done + len(part) == len(tokens)
            done += self._read(sequence, part, done, len(tokens), last)
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
            done += self._read(sequence, tokens[done : done + size], done, end, last=False)
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
        self, sequence: TargetSequence, part: Sequence[int], position: int, end: int, last: bool
    ) -> int:
        """Decodes a part of a prompt that is known up to `end`; with `last`, logits of its last
        token are computed."""
        self._memory.will_read(sequence, len(part), end - position - len(part))
        self._batch.clear()
        self._batch.add_run(part, position, sequence.id, last=last)
        self._decode()
        sequence.tokens.extend(part)
        self._memory.has_read(sequence, len(part))
        return len(part)

    # The state of a text, to be kept outside

    @property
    def state_kind(self) -> str:
        """What a kept state depends on besides the model file: it fits contexts of this kind."""
        kind = (self.context_length, self.model.can_roll_back, self.model.on_gpu)
        return f"{kind} {self._cache} {llama_version()} {build_features()}"

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
        self._memory.forget(sequence)
        if len(tokens) > self.context_length:
            return False
        if not set_state(self._api, self._context, sequence.id, state):
            self._memory.forget(sequence)
            return False
        sequence.tokens.extend(tokens)
        return True

    # A step

    def verify(
        self,
        items: Sequence[tuple[TargetSequence, int, Tree]],
        padding: int = 0,
        reads: Sequence[tuple[TargetSequence, Sequence[int], bool]] = (),
    ) -> float:
        """Decodes, in one batch, the root and the draft of each (sequence, root token, tree), and
        the next tokens of each text that is being read (sequence, tokens, wants logits).

        `padding` tokens more are put into the batch, without use but to fill it: a larger batch
        may be faster. Afterwards `logits` gives the target's logits at every node, until the next
        decode, and each sequence of `items` waits for `commit`. The tokens of a read belong to
        their text already; where logits are wanted they are those of its last token. Returns the
        seconds that llama_decode took.

        Raises ValueError for a draft that is not of the `shape` or has more than `max_draft`
        nodes, drafts with more than `max_branches`, or a batch that is too large. Raises CacheFull,
        with the texts as they were, or DecodeError when llama.cpp fails; then the sequences of the
        batch must be closed.
        """
        self._batch.clear()
        for sequence, _, _ in items:
            sequence.used = []
        for number, (sequence, root, tree) in enumerate(items):
            self._memory.add_draft(self._batch, sequence, root, tree, padding if number == 0 else 0)
        for sequence, tokens, wants_logits in reads:
            if wants_logits:
                self._memory.will_read(sequence, len(tokens), left=0)
            self._batch.add_run(tokens, len(sequence.tokens), sequence.id, last=wants_logits)
            sequence.first_output = len(self._batch) - 1
        seconds = self._decode()
        for sequence, tokens, _ in reads:
            sequence.tokens.extend(tokens)
            self._memory.has_read(sequence, len(tokens))
        return seconds

    def commit(self, sequence: TargetSequence, path: Sequence[int]) -> None:
        """Keeps the root and the nodes of `path` (indices, root's child first) of the last
        verified tree, and takes every other node out of the cache."""
        self._memory.commit(sequence, path)

    def logits(self, sequence: TargetSequence, node: int = ROOT) -> Logits:
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
            if status == _NO_CELLS:
                raise CacheFull("The context is full.")
            raise DecodeError(
                f"llama.cpp could not decode a batch of {len(self._batch)} (code {status})."
            )
        return seconds


def _common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    shared = min(len(left), len(right))
    if list(left[:shared]) == list(right[:shared]):
        return shared
    return next(i for i in range(shared) if left[i] != right[i])
