"""Token streams that look like text to an index, made fast enough not to be what is measured."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sssd_chat.datastore.suffix_array import Tokens

VOCABULARY = 30_000
DOCUMENT_TOKENS = 500
_PHRASES = 50_000
_PHRASE_TOKENS = 24
_PHRASE_CHANCE = 0.015
"""Of a phrase to begin at a token; about a quarter of the text is phrases then."""
_BRANCHING = 0.45
"""A context goes on with its k-th candidate with probability proportional to this to the k."""
_CANDIDATES = 12
_ODD = np.uint64(0x9E37_79B9_7F4A_7C15)
_MIXED = np.uint64(0xBF58_476D_1CE4_E5B9)

_Numbers = npt.NDArray[np.uint64]


class SyntheticText:
    """A random trigram process: each pair of tokens has a few candidates to go on with, drawn from
    a Zipf distribution over VOCABULARY, the first of them the likeliest. Now and then a phrase of
    24 tokens begins, one of 50,000 whose frequencies follow Zipf's law, and stands there whole, as
    names, formulas and quotations do. All seeds share candidates and phrases, so texts of two
    seeds relate as two texts of one author."""

    def __init__(self, seed: int) -> None:
        """The same seed gives the same text."""
        self._chance = np.random.default_rng(seed)
        phrases = np.arange(_PHRASES * _PHRASE_TOKENS, dtype=np.uint64)
        self._phrases = _zipf(_hashed(phrases), VOCABULARY).reshape(_PHRASES, _PHRASE_TOKENS)
        weights = _BRANCHING ** np.arange(_CANDIDATES)
        self._shares = np.cumsum(weights / weights.sum())

    def documents(self, count: int) -> list[Tokens]:
        """The next so many documents, of DOCUMENT_TOKENS each. Asked for by the thousand, they
        take less than half a microsecond a token."""
        rows = np.empty((DOCUMENT_TOKENS, count), np.uint32)
        chance = self._chance
        before, last = (chance.integers(VOCABULARY, size=(2, count))).astype(np.uint64)
        phrase = np.zeros(count, np.int64)
        inside = np.full(count, _PHRASE_TOKENS)
        for row in rows:
            begins = (inside >= _PHRASE_TOKENS) & (chance.random(count) < _PHRASE_CHANCE)
            if begins.any():
                picked = chance.integers(1 << 63, size=int(begins.sum()), dtype=np.uint64) * 2
                phrase[begins] = _zipf(picked, _PHRASES)
                inside[begins] = 0
            choice = np.searchsorted(self._shares, chance.random(count)).astype(np.uint64)
            context = (before * np.uint64(VOCABULARY) + last) * np.uint64(_CANDIDATES) + choice
            row[:] = _zipf(_hashed(context), VOCABULARY)
            copying = inside < _PHRASE_TOKENS
            row[copying] = self._phrases[phrase[copying], inside[copying]]
            inside += 1
            before, last = last, row.astype(np.uint64)
        return list(np.ascontiguousarray(rows.T))


def _hashed(values: _Numbers) -> _Numbers:
    mixed = (values + _ODD) * _ODD
    mixed = (mixed ^ (mixed >> np.uint64(31))) * _MIXED
    return mixed ^ (mixed >> np.uint64(29))


def _zipf(values: _Numbers, size: int) -> Tokens:
    """Random 64-bit numbers as ranks below `size`, each with a frequency of about one over the
    rank."""
    uniform: npt.NDArray[np.float64] = values.astype(np.float64) / 2.0**64
    ranks: Tokens = np.minimum(np.exp(uniform * np.log(size + 1)) - 1, size - 1).astype(np.uint32)
    return ranks
