"""Measures batches of a real model, in contexts of several kinds."""

from __future__ import annotations

import random
import time

from sssd_chat.diagnosis.acceptance import SIZES
from sssd_chat.diagnosis.trials import Candidate
from sssd_chat.drafting import ROOT, DraftTree
from sssd_chat.llama.kv_cache import CacheSettings
from sssd_chat.llama.model import Model
from sssd_chat.llama.sequence import TargetSequence
from sssd_chat.llama.target import Target, TargetSettings

_CONTEXT = 1536
"""Tokens; room for the text and for the root of every measurement."""
_TEXT = 512
"""Tokens that are in the cache while batches are measured."""
_FIRST = 64
"""Tokens that are read in any case, and tell how fast the model reads."""
_READING_SECONDS = 3.0
"""A slow model is measured after a shorter text: it is read once for each kind of cache."""


class ModelBench:
    """A model with one context for each kind of cache, all of them holding the same text. Close
    it when done; the model stays."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._targets: dict[CacheSettings, tuple[Target, TargetSequence]] = {}
        self._random = random.Random(1)
        self._context = min(_CONTEXT, model.trained_context or _CONTEXT)
        self._text = self._tokens(max(1, min(_TEXT, self._context // 3)))
        self.can_draft = True
        self.largest = max(SIZES)

    def open(self, candidate: Candidate) -> None:
        """Makes the context of a candidate now, so that what can be measured is known. Raises
        UserError when it cannot be had."""
        target, _ = self._target(candidate)
        self.can_draft = target.shape.can_draft
        room = self._context - len(self._text)
        self.largest = min(max(SIZES), target.max_draft + 1, room)

    @property
    def text_tokens(self) -> int:
        """Tokens that are in the cache before the first measurement."""
        return len(self._text)

    def seconds(self, candidate: Candidate, size: int) -> float:
        """The time of one batch of `size` tokens after the text. Raises UserError when the context
        cannot be had."""
        target, sequence = self._target(candidate)
        if len(sequence.tokens) + size > self._context:
            # Every measurement leaves its root in the cache.
            target.rewind(sequence, 0)
            target.prefill(sequence, self._text)
        target.set_threads(candidate.threads, candidate.threads_batch)
        root, *chain = self._tokens(size)
        tree = DraftTree()
        for depth, token in enumerate(chain):
            tree.add(token, depth - 1 if depth else ROOT, 1.0, "tune")
        seconds = target.verify([(sequence, root, tree)])
        target.commit(sequence, [])
        return seconds

    def close(self) -> None:
        """Frees the contexts."""
        for target, _ in self._targets.values():
            target.close()
        self._targets.clear()

    def _target(self, candidate: Candidate) -> tuple[Target, TargetSequence]:
        if candidate.cache not in self._targets:
            target = Target(
                self.model,
                TargetSettings(self._context, candidate.threads, cache=candidate.cache),
            )
            sequence = target.open_sequence()
            self._targets[candidate.cache] = (target, sequence)
            self._read(target, sequence)
        return self._targets[candidate.cache]

    def _read(self, target: Target, sequence: TargetSequence) -> None:
        began = time.perf_counter()
        target.prefill(sequence, self._text[:_FIRST])
        if len(self._targets) == 1:
            pace = (time.perf_counter() - began) / min(_FIRST, len(self._text))
            self._text = self._text[: max(_FIRST, int(_READING_SECONDS / pace))]
        if len(self._text) > _FIRST:
            target.prefill(sequence, self._text)

    def _tokens(self, count: int) -> list[int]:
        # Different ones: a mixture of experts reads more weights for them.
        return [self._random.randrange(self.model.vocabulary.size) for _ in range(count)]
