"""Suffix arrays over 32-bit tokens, sorted and searched by libdivsufsort.

Tokens are kept as big-endian 4-byte values, so that comparing bytes compares tokens, and a suffix
array holds byte offsets, so that the C search takes both as they lie on the disk.
"""

from __future__ import annotations

import contextlib
import ctypes

import numpy as np
import numpy.typing as npt
from pydivsufsort import divsufsort
from pydivsufsort.dll import libdivsufsort

TOKEN_BYTES = 4
END = 0xFFFF_FFFF
"""Stands after the last token of each document. No context holds it, so no match reaches from one
document into the next."""
MOST_TOKENS = (2**31 - 1) // TOKEN_BYTES
"""Tokens that one suffix array can hold: its byte offsets have 31 bits."""

Tokens = npt.NDArray[np.uint32]
"""Token ids in the byte order of the machine."""

_search = libdivsufsort.sa_search
_search.restype = ctypes.c_int32
_int32, _byref = ctypes.c_int32, ctypes.byref


def sort_suffixes(tokens: Tokens) -> npt.NDArray[np.int32]:
    """The byte offsets of all suffixes in their order.

    Raises ValueError for more than MOST_TOKENS tokens. Other threads run meanwhile.
    """
    if len(tokens) > MOST_TOKENS:
        raise ValueError(f"a suffix array holds at most {MOST_TOKENS} tokens")
    if not len(tokens):
        return np.empty(0, np.int32)
    narrow, width = _narrowed(tokens)
    _sort_in_one_thread()
    order: npt.NDArray[np.int32] = divsufsort(narrow)
    if width > 1:
        order = order[order % width == 0]
    if width < TOKEN_BYTES:
        order *= np.int32(TOKEN_BYTES // width)
    return order


def _sort_in_one_thread() -> None:
    """Threads of OpenMP spin while they wait, at the cost of the model's own; and for the few
    tokens of an answer they take forty times as long as one. Holds for the calling thread."""
    with contextlib.suppress(AttributeError):
        libdivsufsort.omp_set_num_threads(1)


def _narrowed(tokens: Tokens) -> tuple[npt.NDArray[np.uint8], int]:
    """The text as bytes for sorting, and the width of a token in it.

    Replacing tokens by their rank keeps the order of suffixes, and half the bytes are sorted in
    half the time.
    """
    ranks, distinct = _ranks(tokens)
    width = 1 if distinct <= 1 << 8 else 2 if distinct <= 1 << 16 else TOKEN_BYTES
    return ranks.astype(f">u{width}").view(np.uint8), width


def _ranks(tokens: Tokens) -> tuple[Tokens, int]:
    """The rank of each token among the different ones, and how many of these there are."""
    highest = int(tokens[tokens != END].max(initial=0))
    if highest > len(tokens):
        different, places = np.unique(tokens, return_inverse=True)
        return places.astype(np.uint32), len(different)
    inside = np.minimum(tokens, highest + 1)
    present = np.zeros(highest + 2, np.bool_)
    present[inside] = True
    ranks = np.cumsum(present, dtype=np.uint32) - np.uint32(1)
    return ranks[inside], int(np.count_nonzero(present))


class Search:
    """Finds patterns in one sorted text. The arrays must outlive it."""

    __slots__ = ("_order", "_order_size", "_text", "_text_size")

    def __init__(self, text_address: int, order_address: int, tokens: int) -> None:
        """Addresses of the big-endian text and of its suffix array, and their length in tokens."""
        # Arguments that are C values already make a call a third faster.
        self._text = ctypes.c_void_p(text_address)
        self._text_size = ctypes.c_int32(tokens * TOKEN_BYTES)
        self._order = ctypes.c_void_p(order_address)
        self._order_size = ctypes.c_int32(tokens)

    def find(self, pattern: bytes) -> tuple[int, int]:
        """Where the suffixes that begin with `pattern` (big-endian tokens) stand in the suffix
        array: the first place, and how many there are."""
        left = _int32()
        count = _search(
            self._text,
            self._text_size,
            pattern,
            len(pattern),
            self._order,
            self._order_size,
            _byref(left),
        )
        return left.value, count
