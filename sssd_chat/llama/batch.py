"""The batch of one llama_decode, over arrays that are made once."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from sssd_chat.llama.runtime import api

MAX_SEQUENCES = 256
"""Sequence ids that llama.cpp knows (LLAMA_MAX_SEQ)."""


class Batch:
    """Tokens with their positions and sequence ids, to be decoded at once."""

    def __init__(self, capacity: int) -> None:
        """Room for `capacity` tokens."""
        self.capacity = capacity
        self._tokens: list[int] = []
        self._positions: list[int] = []
        self._counts: list[int] = []
        self._wants_logits: list[int] = []
        self._ids: list[int] = []
        self._token_array = np.zeros(capacity, dtype=np.int32)
        self._position_array = np.zeros(capacity, dtype=np.int32)
        self._count_array = np.zeros(capacity, dtype=np.int32)
        self._logits_array = np.zeros(capacity, dtype=np.int8)
        self._id_array = np.zeros(capacity * 4, dtype=np.int32)
        self._id_pointers = np.zeros(capacity, dtype=np.uintp)
        lib = api()
        self._batch = lib.llama_batch()
        self._batch.embd = None
        pointers: dict[str, tuple[np.ndarray, Any]] = {
            "token": (self._token_array, ctypes.c_int32),
            "pos": (self._position_array, ctypes.c_int32),
            "n_seq_id": (self._count_array, ctypes.c_int32),
            "logits": (self._logits_array, ctypes.c_int8),
            "seq_id": (self._id_pointers, ctypes.POINTER(ctypes.c_int32)),
        }
        for field, (array, ctype) in pointers.items():
            address = ctypes.c_void_p(array.ctypes.data)
            setattr(self._batch, field, ctypes.cast(address, ctypes.POINTER(ctype)))

    def __len__(self) -> int:
        """Tokens in the batch."""
        return len(self._tokens)

    def clear(self) -> None:
        """Empties the batch."""
        self._tokens.clear()
        self._positions.clear()
        self._counts.clear()
        self._wants_logits.clear()
        self._ids.clear()

    def add(self, token: int, position: int, ids: Sequence[int], wants_logits: bool) -> int:
        """Appends a token that belongs to the sequences `ids`; returns its index, by which its
        logits are asked for. Raises ValueError when the batch is full: llama.cpp would end the
        process."""
        if len(self._tokens) >= self.capacity:
            raise ValueError(f"a batch holds at most {self.capacity} tokens")
        self._tokens.append(token)
        self._positions.append(position)
        self._counts.append(len(ids))
        self._wants_logits.append(1 if wants_logits else 0)
        self._ids.extend(ids)
        return len(self._tokens) - 1

    def add_run(self, tokens: Sequence[int], position: int, sequence: int, last: bool) -> None:
        """Appends consecutive tokens of one sequence; with `last`, the last one has logits."""
        size = len(tokens)
        if len(self._tokens) + size > self.capacity:
            raise ValueError(f"a batch holds at most {self.capacity} tokens")
        self._tokens.extend(tokens)
        self._positions.extend(range(position, position + size))
        self._counts.extend([1] * size)
        self._wants_logits.extend([0] * (size - 1) + [1 if last else 0])
        self._ids.extend([sequence] * size)

    def as_llama_batch(self) -> Any:
        """The llama_batch structure over the arrays; valid until the batch changes."""
        size = len(self._tokens)
        if len(self._ids) > len(self._id_array):
            self._id_array = np.zeros(2 * len(self._ids), dtype=np.int32)
        self._token_array[:size] = self._tokens
        self._position_array[:size] = self._positions
        self._count_array[:size] = self._counts
        self._logits_array[:size] = self._wants_logits
        self._id_array[: len(self._ids)] = self._ids
        ends = np.cumsum(self._count_array[:size])
        starts = (ends - self._count_array[:size]) * self._id_array.itemsize
        self._id_pointers[:size] = self._id_array.ctypes.data + starts
        self._batch.n_tokens = size
        return self._batch
