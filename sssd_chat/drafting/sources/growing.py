"""A datastore in memory alone, searchable as soon as a document is added."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sssd_chat.datastore.document import CHATS, Document
from sssd_chat.datastore.pending import Pending
from sssd_chat.datastore.segment import Segment
from sssd_chat.datastore.snapshot import Snapshot
from sssd_chat.drafting.sources.stored import StoredSource


class GrowingSource(StoredSource):
    """What replays use in place of the datastore on disk."""

    def __init__(self, segments: Iterable[Segment] = ()) -> None:
        """Holds `segments` from the start."""
        self._sealed = tuple(segments)
        self._pending = Pending()
        self._searched = Snapshot(self._sealed)
        super().__init__(self)

    @property
    def snapshot(self) -> Snapshot:
        """What was added so far."""
        return self._searched

    def add(self, tokens: Sequence[int], collection: str = CHATS) -> None:
        """Adds one document."""
        self._pending.add(collection, Document.of("", tokens))
        self._pending.merge()
        self._searched = Snapshot((*self._sealed, *self._pending.segments))
