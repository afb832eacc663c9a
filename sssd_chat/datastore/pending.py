"""The part of the datastore that is in memory: documents that are not in a sealed segment yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sssd_chat.datastore.document import Document
from sssd_chat.datastore.journal import JournalEntry
from sssd_chat.datastore.segment import Segment
from sssd_chat.datastore.upkeep import mergeable


class Pending:
    """Documents, searchable the moment they are added. For one thread at a time; its `segments`
    may be searched from any."""

    def __init__(self) -> None:
        self.entries: list[JournalEntry] = []
        self.segments: tuple[Segment, ...] = ()
        """Small segments over the entries, oldest first."""

    @property
    def tokens(self) -> int:
        """Tokens of all entries, ends of documents included."""
        return sum(map(len, self.segments))

    def add(self, collection: str, document: Document) -> None:
        """Adds one document: a segment of its own until `merge`."""
        self.segments += (Segment.of(collection, [document]),)
        self.entries.append(JournalEntry(collection, document))

    def fill(self, entries: list[JournalEntry]) -> None:
        """Replaces the content."""
        self.entries = list(entries)
        self.segments = tuple(
            Segment.of(name, documents) for name, documents in by_collection(entries).items()
        )

    def keep(self, is_kept: Callable[[JournalEntry], bool]) -> int:
        """Takes all other entries out; returns how many these were."""
        kept = list(filter(is_kept, self.entries))
        dropped = len(self.entries) - len(kept)
        if dropped:
            self.fill(kept)
        return dropped

    def due_merge(self) -> list[Segment]:
        """Small segments that should be joined, so that few have to be searched; none when all is
        well."""
        for name in {segment.collection for segment in self.segments}:
            own = [segment for segment in self.segments if segment.collection == name]
            if joined := own[mergeable([len(segment) for segment in own])]:
                return joined
        return []

    def put_in_place_of(self, joined: list[Segment], merged: Segment) -> None:
        """Replaces segments by the one that they were merged into."""
        at = self.segments.index(joined[-1])
        older = [segment for segment in self.segments[:at] if segment not in joined]
        self.segments = (*older, merged, *self.segments[at + 1 :])

    def merge(self) -> None:
        """Joins all that should be joined."""
        while joined := self.due_merge():
            self.put_in_place_of(joined, Segment.merged(joined))


def by_collection(entries: Iterable[JournalEntry]) -> dict[str, list[Document]]:
    """The documents of each collection, oldest first."""
    found: dict[str, list[Document]] = {}
    for entry in entries:
        found.setdefault(entry.collection, []).append(entry.document)
    return found
