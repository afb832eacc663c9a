"""Tokenizes long texts faster: what was tokenized once is not tokenized again.

The merges of a byte-pair vocabulary never reach from one word into the next, and texts repeat
their words. So a text is cut between words, and llama.cpp gets each distinct piece once, many
pieces in one call. Where this does not give what llama.cpp gives for the whole, which is looked at
for the start of each text and for the bytes of each piece, the text is left whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

_Tokens = npt.NDArray[np.int32]
_Numbers = npt.NDArray[np.int64]
_Bytes = npt.NDArray[np.uint8]
_Hashes = npt.NDArray[np.uint64]

WORTH_BYTES = 2048
"""Shorter texts are not worth the trouble."""
_SAMPLE_BYTES = 2048
"""How much of each text is tokenized both ways."""
_LONGEST = 64
"""Bytes of a piece that the quick hash tells apart."""
_BLOCK = 1 << 16
"""Pieces that are hashed at once, which takes some 30 bytes of memory for each of their bytes."""
_MOST_PIECES = 1 << 18
"""Pieces that are remembered; about 50 MB."""
_MOST_IN_VAIN = 8
"""Texts that may fail, others that did not being set against them, until no more are tried."""
_FILLER = b" x"
"""Stands before each piece in a call: a word of its own, after which any piece is one, too."""

_LETTERS = np.zeros(256, np.bool_)
_LETTERS[list(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")] = True
_ENDS_WORD = np.zeros(256, np.bool_)
# No apostrophe: vocabularies differ in what belongs to "it's".
_ENDS_WORD[list(b'\n!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~')] = True
_FACTORS: _Hashes = np.random.default_rng(0x5EED).integers(
    1, 1 << 63, _LONGEST, dtype=np.uint64
) | np.uint64(1)


class _Growing:
    """An array of numbers that is added to at its end."""

    def __init__(self) -> None:
        self._room: _Numbers = np.empty(1 << 12, np.int64)
        self.size = 0

    @property
    def values(self) -> _Numbers:
        return self._room[: self.size]

    def extend(self, values: _Tokens | _Numbers) -> None:
        end = self.size + len(values)
        if end > len(self._room):
            room = np.empty(max(end, 2 * len(self._room)), np.int64)
            room[: self.size] = self.values
            self._room = room
        self._room[self.size : end] = values
        self.size = end


class LongTextTokenizer:
    """For one byte-pair vocabulary and one thread."""

    def __init__(
        self,
        tokenize: Callable[[bytes], _Tokens],
        length_of: Callable[[int], int],
        marks: list[bytes],
    ) -> None:
        """`tokenize` is that of llama.cpp, `length_of` gives the bytes of a token, and `marks` are
        what the vocabulary looks for in a text before it divides that into words."""
        self._tokenize = tokenize
        self._length_of = length_of
        self._marks = re.compile(b"|".join(map(re.escape, marks))) if marks else None
        self._lengths: dict[int, int] = {}
        self._in_vain = 0
        """How many texts did not come out as from llama.cpp, less those that did."""
        self._forget()

    def _forget(self) -> None:
        self._known: dict[int, int] = {}
        """The number of each piece, by hash."""
        self._pool = _Growing()
        self._firsts = _Growing()
        self._counts = _Growing()

    def tokenize(self, data: bytes) -> _Tokens:
        """The tokens of a text in UTF-8."""
        if self._in_vain > _MOST_IN_VAIN or (self._marks and self._marks.search(data)):
            return self._tokenize(data)
        tokens = self._in_pieces(data)
        if tokens is None or not self._agrees(data):
            self._in_vain += 1
            self._forget()
            return self._tokenize(data)
        self._in_vain = max(0, self._in_vain - 1)
        return tokens

    def _agrees(self, data: bytes) -> bool:
        """Whether the start of a text comes out as it does from llama.cpp."""
        start = data[:_SAMPLE_BYTES].decode("utf-8", "ignore").encode()
        pieces = self._in_pieces(start)
        return pieces is not None and np.array_equal(pieces, self._tokenize(start))

    def _in_pieces(self, data: bytes) -> _Tokens | None:
        """The tokens of a text, piece by piece; None where that cannot be done."""
        starts, hashes = _pieces(np.frombuffer(data, np.uint8))
        if not len(starts):
            return self._tokenize(data)
        distinct, first, which = np.unique(hashes, return_index=True, return_inverse=True)
        if len(self._known) + len(distinct) > _MOST_PIECES:
            self._forget()
        known = self._known
        numbers = [known.get(value, -1) for value in distinct.tolist()]
        new = [place for place, number in enumerate(numbers) if number < 0]
        if new:
            begins = starts[first[new]].tolist()
            ends = np.append(starts[1:], len(data))[first[new]].tolist()
            pieces = [data[begin:end] for begin, end in zip(begins, ends, strict=True)]
            if not self._learn(pieces):
                return None
            for place in new:
                numbers[place] = known[int(distinct[place])] = len(known)
        rest = self._joined(np.array(numbers, np.int64)[which.reshape(-1)])
        # The first word of a text may be special.
        return np.concatenate((self._tokenize(data[: starts[0]]), rest))

    def _learn(self, pieces: list[bytes]) -> bool:
        """Tokenizes pieces and numbers them from len(known) on; False where the tokens do not
        fall into the same pieces."""
        tokens = self._tokenize(_FILLER + _FILLER.join(pieces))
        ends = np.cumsum(self._bytes_of(tokens))
        sizes = np.fromiter(map(len, pieces), np.int64, len(pieces))
        wanted_ends = np.cumsum(sizes + len(_FILLER))
        wanted_starts = wanted_ends - sizes
        first, last = np.searchsorted(ends, wanted_starts), np.searchsorted(ends, wanted_ends)
        if (
            ends[-1] != wanted_ends[-1]
            or not np.array_equal(ends[first], wanted_starts)
            or not np.array_equal(ends[last], wanted_ends)
        ):
            return False
        counts = last - first
        self._firsts.extend(self._pool.size + first + 1)
        self._counts.extend(counts)
        self._pool.extend(tokens)
        return True

    def _bytes_of(self, tokens: _Tokens) -> _Numbers:
        distinct, which = np.unique(tokens, return_inverse=True)
        for token in distinct.tolist():
            if token not in self._lengths:
                self._lengths[token] = self._length_of(token)
        lengths = np.array([self._lengths[token] for token in distinct.tolist()], np.int64)
        return lengths[which.reshape(-1)]

    def _joined(self, numbers: _Numbers) -> _Tokens:
        """The tokens of pieces, one after the other."""
        counts = self._counts.values[numbers]
        ends = np.cumsum(counts)
        shifts = self._firsts.values[numbers] - (ends - counts)
        places = np.arange(ends[-1]) + np.repeat(shifts, counts)
        tokens: _Tokens = self._pool.values[places].astype(np.int32)
        return tokens


def _pieces(data: _Bytes) -> tuple[_Numbers, _Hashes]:
    """Where the pieces of a text start, but for the first, and what tells them apart."""
    letters = _LETTERS[data]
    cuts = np.zeros(len(data), np.bool_)
    # A word takes the space before it along, whatever stands before that.
    cuts[:-1] = (data[:-1] == ord(" ")) & letters[1:]
    cuts[1:] |= letters[:-1] & _ENDS_WORD[data[1:]]
    cuts[:1] = False
    starts = np.flatnonzero(cuts)
    if not len(starts):
        return starts, np.empty(0, np.uint64)
    ends = np.append(starts[1:], len(data))
    blocks = range(0, len(starts), _BLOCK)
    parts = [_hashes(data, starts[at : at + _BLOCK], ends[at : at + _BLOCK]) for at in blocks]
    return starts, np.concatenate(parts)


def _hashes(data: _Bytes, starts: _Numbers, ends: _Numbers) -> _Hashes:
    """The hash of each of some pieces that follow one another."""
    data, begins, sizes = data[starts[0] : ends[-1]], starts - starts[0], ends - starts
    places = np.arange(len(data)) - np.repeat(begins, sizes)
    np.minimum(places, _LONGEST - 1, out=places)
    hashes: _Hashes = np.add.reduceat(_FACTORS[places] * (data + np.uint64(1)), begins)
    for long in np.flatnonzero(sizes >= _LONGEST).tolist():
        piece = data[begins[long] : begins[long] + sizes[long]].tobytes()
        hashes[long] = hash(piece) % (1 << 64)
    return hashes
