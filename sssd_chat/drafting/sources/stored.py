"""The datastore as a source of drafts."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Protocol

from sssd_chat.datastore.segment import Segment
from sssd_chat.datastore.snapshot import LONGEST, Followers, Place, Snapshot
from sssd_chat.datastore.suffix_array import END
from sssd_chat.drafting.evidence import MOST_CANDIDATES
from sssd_chat.drafting.source import Match
from sssd_chat.drafting.sources.copying import CopyPointer, followed, found_copy

_KEPT_ANSWERS = 4096
"""Contexts whose followers are remembered. Most of a step's contexts were looked up as part of
the draft before it."""

_PACKERS = [struct.Struct(f">{length}I").pack for length in range(LONGEST + 1)]

_Context = tuple[int, ...]


class HasSnapshot(Protocol):
    """A datastore, as far as drafting needs it."""

    @property
    def snapshot(self) -> Snapshot:
        """What is searched now."""


class StoredSource:
    """Looks contexts up in all segments of a datastore. For one thread."""

    name = "datastore"

    def __init__(self, store: HasSnapshot) -> None:
        """Searches what `store` holds at the time."""
        self._store = store
        self._snapshot = store.snapshot
        self._known: dict[_Context, _Answer] = {}

    def cursor(self, context: Sequence[int]) -> StoredCursor:
        """See Source."""
        if self._store.snapshot is not self._snapshot or len(self._known) > _KEPT_ANSWERS:
            self._snapshot = self._store.snapshot
            self._known = {}
        return StoredCursor(self, tuple(context[-LONGEST:]))

    def answer(self, context: _Context) -> _Answer:
        """What followed a context of at most LONGEST tokens."""
        answer = self._known.get(context)
        if answer is None:
            packed = _PACKERS[len(context)](*context)
            followers = self._snapshot.followers(packed, enough=MOST_CANDIDATES)
            answer = self._known[context] = _Answer(followers)
        return answer


class _SegmentText:
    """The tokens of a segment, as a text to copy from."""

    __slots__ = ("segment",)

    def __init__(self, segment: Segment) -> None:
        self.segment = segment

    def __getitem__(self, place: int) -> int:
        return self.segment.token_at(place)


def stored_place(pointer: CopyPointer) -> Place | None:
    """Where a copy from a datastore goes on; None for a copy from elsewhere."""
    text = pointer.text
    return Place(text.segment, pointer.place) if isinstance(text, _SegmentText) else None


def followed_in_store(pointer: CopyPointer | None, token: int) -> CopyPointer | None:
    """The copy from a datastore after `token` joined the passage; None at the end of the
    document, too."""
    pointer = followed(pointer, token)
    return pointer if pointer is not None and pointer.token != END else None


class _Answer:
    """The followers of a context, counted."""

    __slots__ = ("followers", "matches")

    def __init__(self, followers: list[Followers]) -> None:
        self.followers = followers
        self.matches = [match for match in map(_counted, followers) if match.total]


def _counted(followers: Followers) -> Match:
    counts: dict[int, int] = {}
    for token, _, _ in followers.places:
        # Re-inserting keeps the dictionary in order of recency.
        counts[token] = counts.pop(token, 0) + 1
    return Match(followers.length, len(followers.places), counts)


class StoredCursor:
    """A context, seen from the datastore."""

    __slots__ = ("_context", "_source")

    def __init__(self, source: StoredSource, context: _Context) -> None:
        self._source = source
        self._context = context

    def matches(self) -> list[Match]:
        """See Cursor."""
        return self._source.answer(self._context).matches

    def advance(self, token: int) -> StoredCursor:
        """See Cursor."""
        return StoredCursor(self._source, (*self._context[1 - LONGEST :], token))

    def place(self, token: int) -> Place | None:
        """Where `token` followed the longest match, most recently; None when it never did."""
        for followers in self._source.answer(self._context).followers:
            for found, segment, position in reversed(followers.places):
                if found == token:
                    return Place(segment, position)
        return None

    def copy(self, tokens: Sequence[int]) -> CopyPointer | None:
        """The text that the end of `tokens`, whose cursor this is, repeats: where the longest match
        stood last. None when nothing long enough is repeated."""
        followers = self._source.answer(self._context).followers
        if not followers or followers[0].length < LONGEST or not followers[0].places:
            return None
        _, segment, position = followers[0].places[-1]
        return found_copy(_SegmentText(segment), position, tokens, followers[0].length)
