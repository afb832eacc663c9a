"""What a datastore should say, found the slow way."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from sssd_chat.datastore.document import Document
from sssd_chat.datastore.manifest import NAME, load_manifest
from sssd_chat.datastore.snapshot import Snapshot
from sssd_chat.datastore.store import Datastore
from sssd_chat.datastore.suffix_array import END

_MEMORY = Path("/dev/shm")
FAST_FOLDER = _MEMORY if os.access(_MEMORY, os.W_OK) else None
"""Renaming over a file waits for the disk in many file systems; here it does not. None where the
system has no such folder."""
UNLIMITED = 10**9
LARGEST = END - 1
"""The largest token there may be."""

ALPHABETS = (
    (0, 1),
    (0, 1, 2, 3, 65_535),
    (0, 255, 256, 257, 65_535, 65_536, 65_537, 1 << 24, 1 << 31, LARGEST - 1, LARGEST),
)
"""Two tokens, five, and such whose bytes look alike."""


@st.composite
def token_lists(draw: st.DrawFn, alphabet: Sequence[int], size: int = 25) -> list[int]:
    """A text over an alphabet, often with repeated phrases."""
    phrases = draw(st.lists(st.lists(st.sampled_from(alphabet), max_size=6), max_size=4))
    return [token for phrase in phrases for token in phrase * draw(st.integers(1, 2))][:size]


Key = tuple[str, str]
Documents = Mapping[Key, Sequence[int]]
"""Documents by collection and key."""


def packed(tokens: Sequence[int]) -> bytes:
    """Tokens as the datastore searches for them."""
    return np.array(tokens, ">u4").tobytes()


def document(key: str, tokens: Iterable[int]) -> Document:
    """A document whose label is told from others by more than its key."""
    return Document.of(key, tokens, added=float(len(key)), digest=f"digest of {key}")


def followers(documents: Documents, pattern: Sequence[int]) -> Counter[tuple[str, str, int]]:
    """(collection, key, token) of all that follows a pattern."""
    size, wanted = len(pattern), list(pattern)
    return Counter(
        (*name, text[start + size])
        for name, text in documents.items()
        for start in range(len(text) - size)
        if list(text[start : start + size]) == wanted
    )


def occurrences(documents: Documents, pattern: Sequence[int]) -> int:
    """How often a pattern stands in the documents."""
    size, wanted = len(pattern), list(pattern)
    return sum(
        list(text[start : start + size]) == wanted
        for text in documents.values()
        for start in range(len(text) - size + 1)
    )


def check_followers(snapshot: Snapshot, documents: Documents, context: Sequence[int]) -> None:
    """Compares all that a snapshot finds for a context with what the documents hold."""
    results = snapshot.followers(packed(context), UNLIMITED, samples=UNLIMITED)
    by_length = {result.length: result for result in results}
    assert [result.length for result in results] == sorted(by_length, reverse=True)
    found: Counter[tuple[str, str, int]] = Counter()
    total = 0
    for length in range(min(8, len(context)), 0, -1):
        if length in by_length:
            result = by_length[length]
            found = Counter(
                (segment.collection, segment.label_at(position).key, token)
                for token, segment, position in result.places
            )
            total = result.total
        # A length that is left out has the places of the next longer one.
        pattern = context[-length:]
        assert found == followers(documents, pattern), (length, context)
        assert total == occurrences(documents, pattern)


def stored(store: Datastore) -> dict[Key, list[int]]:
    """All documents of a datastore; none may be there twice."""
    found: dict[Key, list[int]] = {}
    for info in store.collections():
        documents = list(store.documents(info.name))
        labels = store.labels(info.name)
        assert len(documents) == len(labels) == info.documents
        assert info.tokens == sum(len(each.tokens) for each in documents)
        for each in documents:
            assert labels[each.label.key] == each.label
            assert each.label == document(each.label.key, []).label
            found[info.name, each.label.key] = each.tokens.tolist()
    return found


def tidied(store: Datastore) -> Datastore:
    """Lets a datastore do all its upkeep."""
    while store.tidy():
        pass
    return store


def check_no_orphans(folder: Path) -> None:
    """Nothing but the state of a datastore may lie in its folder."""
    files = {path.name for path in folder.iterdir()} - {NAME, "lock"}
    assert files <= load_manifest(folder).files


def random_documents(seed: int, count: int, alphabet: int = 50, size: int = 60) -> Documents:
    """Documents of one collection."""
    chance = random.Random(seed)
    return {
        ("chats", str(number)): [chance.randrange(alphabet) for _ in range(chance.randrange(size))]
        for number in range(count)
    }
