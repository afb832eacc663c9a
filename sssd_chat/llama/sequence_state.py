"""The KV state of one sequence as bytes, to be kept and given back later."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

Buffer = bytes | bytearray | memoryview


def state_size(lib: Any, context: Any, sequence: int) -> int:
    """Bytes of the state of a sequence (llama_state_seq_get_size)."""
    return int(lib.llama_state_seq_get_size(context, sequence))


def state_bytes(lib: Any, context: Any, sequence: int) -> memoryview:
    """The state of a sequence (llama_state_seq_get_data). Empty when llama.cpp gave none."""
    size = state_size(lib, context, sequence)
    state = np.empty(size, dtype=np.uint8)
    written: int = lib.llama_state_seq_get_data(context, _pointer(state), size, sequence)
    return state.data[:written]


def set_state(lib: Any, context: Any, sequence: int, state: Buffer) -> bool:
    """Gives a sequence the state that `state_bytes` gave (llama_state_seq_set_data); False when
    llama.cpp did not take it.

    Only bytes that are known to be whole may come here: llama.cpp trusts the sizes in them.
    """
    data = np.frombuffer(state, dtype=np.uint8)
    taken: int = lib.llama_state_seq_set_data(context, _pointer(data), len(data), sequence)
    return taken == len(data) > 0


def recurrent_state(lib: Any, context: Any, sequence: int) -> np.ndarray:
    """The recurrent part of the state of a sequence, without its KV cache. Empty when llama.cpp
    gave none."""
    part = lib.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY
    size = int(lib.llama_state_seq_get_size_ext(context, sequence, part))
    state = np.empty(size, dtype=np.uint8)
    written: int = lib.llama_state_seq_get_data_ext(context, _pointer(state), size, sequence, part)
    return state[:written]


def set_recurrent_state(lib: Any, context: Any, sequence: int, state: np.ndarray) -> bool:
    """Gives a sequence the recurrent part that `recurrent_state` gave; its KV cache stays. False
    when llama.cpp did not take it."""
    part = lib.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY
    taken: int = lib.llama_state_seq_set_data_ext(
        context, _pointer(state), len(state), sequence, part
    )
    return taken == len(state) > 0


def _pointer(data: np.ndarray) -> Any:
    return ctypes.cast(data.ctypes.data, ctypes.POINTER(ctypes.c_uint8))
