"""Tokenizes long texts faster: what was tokenized once is not tokenized again.

The merges of a byte-pair vocabulary never reach from one word into the next, and texts repeat
their words. So a text is cut between words, and llama.cpp gets each distinct piece once, many
pieces in one call. Where this does not give what llama.cpp gives for the whole, which is looked at
for the start of some texts and for the bytes of each piece, texts are left whole.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_Tokens = npt.NDArray[np.int32]
_Numbers = npt.NDArray[np.int64]
_Bytes = npt.NDArray[np.uint8]
_Hashes = npt.NDArray[np.uint64]

WORTH_BYTES = 2048
"""Shorter texts are not worth the trouble."""
_SAMPLE_BYTES = 2048
"""How much of a text is tokenized both ways."""
_FIRST_SAMPLES = 16
"""That is done in so many calls, and then in one of so many."""
_LONGEST = 64
"""Bytes of a piece that the quick hash tells apart."""
_BLOCK = 1 << 16
"""Pieces that are hashed at once, which takes some 30 bytes of memory for each of their bytes."""
_MOST_PIECES = 1 << 19
"""Pieces that are remembered; about 100 MB."""
_MOST_IN_VAIN = 8
"""Calls that may fail, others that did not being set against them, until no more are tried."""
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
    """For one byte-pair vocabulary. Several threads may use it at once."""

    def __init__(
        self,
        tokenize: Callable[[bytes], _Tokens],
        length_of: Callable[[int], int],
        marks: Sequence[bytes],
    ) -> None:
        """`tokenize` is that of llama.cpp, `length_of` gives the bytes of a token, and `marks` are
        what the vocabulary looks for in a text before it divides that into words."""
        self._tokenize = tokenize
        self._length_of = length_of
        self._marks = re.compile(b"|".join(map(re.escape, marks))) if marks else None
        self._lengths: dict[int, int] = {}
        self._calls = 0
        self._in_vain = 0
        """How many calls did not come out as from llama.cpp, less those that did."""
        self._lock = threading.Lock()
        """Held while what is remembered changes or is looked up; not while llama.cpp works."""
        self._forget()

    def _forget(self) -> None:
        self._known: dict[int, int] = {}
        """The number of each piece, by hash."""
        self._pool = _Growing()
        self._firsts = _Growing()
        self._counts = _Growing()

    def tokenize(self, texts: Sequence[bytes]) -> list[_Tokens]:
        """The tokens of some texts in UTF-8; better of many at once than one by one."""
        if self._in_vain > _MOST_IN_VAIN:
            return list(map(self._tokenize, texts))
        plain = [self._marks is None or not self._marks.search(text) for text in texts]
        divided = self._divided(
            [text for text, is_plain in zip(texts, plain, strict=True) if is_plain]
        )
        if divided is None:
            return list(map(self._tokenize, texts))
        found = iter(divided)
        return [
            next(found) if is_plain else self._tokenize(text)
            for text, is_plain in zip(texts, plain, strict=True)
        ]

    def _divided(self, texts: Sequence[bytes]) -> list[_Tokens] | None:
        """The tokens of texts, piece by piece; None where that does not work."""
        if not texts:
            return []
        tokens = self._in_pieces(texts)
        is_sampled = self._calls < _FIRST_SAMPLES or self._calls % _FIRST_SAMPLES == 0
        self._calls += 1
        if tokens is None or (is_sampled and not self._agrees(texts[0])):
            self._in_vain += 1
            return None
        self._in_vain = max(0, self._in_vain - 1)
        return tokens

    def _agrees(self, text: bytes) -> bool:
        """Whether the start of a text comes out as it does from llama.cpp."""
        start = text[:_SAMPLE_BYTES].decode("utf-8", "ignore").encode()
        pieces = self._in_pieces([start])
        return pieces is not None and np.array_equal(pieces[0], self._tokenize(start))

    def _in_pieces(self, texts: Sequence[bytes]) -> list[_Tokens] | None:
        parts = [_pieces(text) for text in texts]
        hashes = np.concatenate([part.hashes for part in parts])
        distinct, first, which = np.unique(hashes, return_index=True, return_inverse=True)
        values: list[int] = distinct.tolist()
        learned: dict[int, _Tokens] = {}
        while True:
            with self._lock:
                self._remember(learned)
                new = [n for n, value in enumerate(values) if value not in self._known]
                if not new:
                    numbers = np.array([self._known[value] for value in values], np.int64)
                    tokens, counts = self._joined(numbers[which.reshape(-1)])
                    break
            pieces = _spelled(texts, parts, first[new])
            found = self._learned(pieces)
            if found is None:
                return None
            learned.update(zip((values[n] for n in new), found, strict=True))
        # The first word of a text may be special in a vocabulary.
        heads = [self._tokenize(text[: part.head]) for text, part in zip(texts, parts, strict=True)]
        ends = np.cumsum([len(part.hashes) for part in parts])
        rests = np.split(tokens, np.append(0, np.cumsum(counts))[ends[:-1]])
        return [np.concatenate(pair) for pair in zip(heads, rests, strict=True)]

    def _learned(self, pieces: Sequence[bytes]) -> list[_Tokens] | None:
        """The tokens of each piece; None where tokens do not end where pieces do."""
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
            return None
        return [tokens[a:b] for a, b in zip((first + 1).tolist(), (last + 1).tolist(), strict=True)]

    def _remember(self, learned: Mapping[int, _Tokens]) -> None:
        """Numbers pieces that were learned."""
        fresh = {value: tokens for value, tokens in learned.items() if value not in self._known}
        if not fresh:
            return
        if len(self._known) + len(fresh) > _MOST_PIECES:
            self._forget()
            fresh = dict(learned)
        counts = np.fromiter(map(len, fresh.values()), np.int64, len(fresh))
        self._firsts.extend(self._pool.size + np.cumsum(counts) - counts)
        self._counts.extend(counts)
        self._pool.extend(np.concatenate(list(fresh.values())))
        self._known.update(
            zip(fresh, range(len(self._known), len(self._known) + len(fresh)), strict=True)
        )

    def _bytes_of(self, tokens: _Tokens) -> _Numbers:
        distinct, which = np.unique(tokens, return_inverse=True)
        for token in distinct.tolist():
            if token not in self._lengths:
                self._lengths[token] = self._length_of(token)
        lengths = np.array([self._lengths[token] for token in distinct.tolist()], np.int64)
        return lengths[which.reshape(-1)]

    def _joined(self, numbers: _Numbers) -> tuple[_Tokens, _Numbers]:
        """The tokens of pieces, one after the other, and how many each of them has."""
        counts = self._counts.values[numbers]
        ends = np.cumsum(counts)
        shifts = self._firsts.values[numbers] - (ends - counts)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(shifts, counts)
        return self._pool.values[places].astype(np.int32), counts


@dataclass(frozen=True, slots=True)
class _Divided:
    """A text in pieces."""

    head: int
    """Bytes before the first one."""
    ends: _Numbers
    """Where each ends."""
    hashes: _Hashes
    """What tells them apart."""


def _spelled(texts: Sequence[bytes], parts: Sequence[_Divided], numbers: _Numbers) -> list[bytes]:
    """Some pieces, numbered through all texts."""
    offsets = np.cumsum([0, *(len(part.hashes) for part in parts)])
    owners = np.searchsorted(offsets, numbers, side="right") - 1
    found = []
    for owner, number in zip(owners.tolist(), (numbers - offsets[owners]).tolist(), strict=True):
        part = parts[owner]
        start = part.ends[number - 1] if number else part.head
        found.append(texts[owner][start : part.ends[number]])
    return found


def _pieces(text: bytes) -> _Divided:
    """Divides a text. What is before the first cut is in no piece."""
    data = np.frombuffer(text, np.uint8)
    letters = _LETTERS[data]
    cuts = np.zeros(len(data), np.bool_)
    # A word takes the space before it along, whatever stands before that.
    cuts[:-1] = (data[:-1] == ord(" ")) & letters[1:]
    cuts[1:] |= letters[:-1] & _ENDS_WORD[data[1:]]
    cuts[:1] = False
    starts = np.flatnonzero(cuts)
    if not len(starts):
        return _Divided(len(data), starts, np.empty(0, np.uint64))
    ends = np.append(starts[1:], len(data))
    blocks = range(0, len(starts), _BLOCK)
    hashes = [_hashes(data, starts[at : at + _BLOCK], ends[at : at + _BLOCK]) for at in blocks]
    return _Divided(int(starts[0]), ends, np.concatenate(hashes))


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
