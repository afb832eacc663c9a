"""Sorting and searching against `sorted` and counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.datastore import suffix_array
from sssd_chat.datastore.suffix_array import END, TOKEN_BYTES, Search, sort_suffixes
from tests.datastore.truth import ALPHABETS, packed, token_lists

texts = st.sampled_from([*ALPHABETS, (0, END)]).flatmap(
    lambda alphabet: st.tuples(st.just(alphabet), token_lists(alphabet, size=60))
)


def sorted_suffixes(text: list[int]) -> list[int]:
    return sorted(range(len(text)), key=lambda start: text[start:])


def numbers(text: list[int]) -> np.ndarray:
    return np.array(text, np.uint32)


@given(texts)
def test_suffixes_are_sorted_as_python_sorts_them(case: tuple[list[int], list[int]]) -> None:
    _, text = case
    assert (sort_suffixes(numbers(text)) // TOKEN_BYTES).tolist() == sorted_suffixes(text)


@pytest.mark.parametrize("distinct", [255, 256, 257, 65_535, 65_536, 65_537])
@pytest.mark.parametrize("spread", [1, 7, 60_000])
def test_any_number_of_different_tokens_is_sorted(distinct: int, spread: int) -> None:
    chance = np.random.default_rng(distinct)
    text = chance.permutation(np.repeat(np.arange(distinct, dtype=np.uint32) * spread, 2))
    text = np.append(text, END).astype(np.uint32)
    places = sort_suffixes(text) // TOKEN_BYTES
    assert sorted(places.tolist()) == list(range(len(text)))
    rank = np.empty(len(text) + 1, np.int64)
    rank[places] = np.arange(len(text))
    rank[-1] = -1
    pairs = list(zip(text[places].tolist(), rank[places + 1].tolist(), strict=True))
    assert pairs == sorted(pairs)


@given(texts, st.data())
def test_a_search_finds_every_place(case: tuple[list[int], list[int]], data: st.DataObject) -> None:
    alphabet, text = case
    order = sort_suffixes(numbers(text))
    content = np.frombuffer(packed(text), np.uint8)
    search = Search(content.ctypes.data, order.ctypes.data, len(order))
    pattern = data.draw(st.lists(st.sampled_from(alphabet), min_size=1, max_size=4))
    left, count = search.find(packed(pattern))
    size = len(pattern)
    expected = [at for at in range(len(text)) if text[at : at + size] == pattern]
    found = (order[left : left + count] // TOKEN_BYTES).tolist() if count > 0 else []
    assert sorted(found) == expected


def test_too_long_a_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suffix_array, "MOST_TOKENS", 3)
    assert len(sort_suffixes(numbers([1, 2, 3]))) == 3
    with pytest.raises(ValueError, match="at most 3 tokens"):
        sort_suffixes(numbers([1, 2, 3, 4]))
