"""What an open datastore holds, on the disk and in memory, and how a change of it is shown."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from pathlib import Path

from sssd_chat.datastore.disk import Disk
from sssd_chat.datastore.info import NotTheWriter
from sssd_chat.datastore.journal import JournalEntry
from sssd_chat.datastore.pending import Pending
from sssd_chat.datastore.segment import Segment
from sssd_chat.datastore.snapshot import Snapshot

log = logging.getLogger(__name__)


class Contents:
    """The parts of a datastore, for those who change them: they hold the mutex meanwhile, and
    `show` what came of it."""

    def __init__(self, folder: Path) -> None:
        """Nothing, until something is read from the disk."""
        self.disk = Disk(folder)
        self.pending = Pending()
        """What the journal holds."""
        self.local = Pending()
        """Documents that could not be written."""
        self.snapshot = Snapshot()
        """What searches look at. Replaced by every change, never changed itself."""
        self.problem = ""
        """What does not work, in one sentence; empty when all is well."""
        self.mutex = threading.RLock()
        self.upkeep = threading.RLock()
        """Held while segments change. Taken before the mutex."""

    def segments(self, collection: str | None = None) -> list[Segment]:
        """All segments of one collection, or of all."""
        with self.mutex:
            segments = [*self.disk.segments.values(), *self._in_memory()]
        return [s for s in segments if collection is None or s.collection == collection]

    def put_in_place_of(
        self, files: list[str], segments: list[Segment], sealed: Sequence[JournalEntry] = ()
    ) -> None:
        """Makes segments part of the state, in place of those in `files` and of the oldest entries
        in memory, which are `sealed`. Sorting and writing leave the mutex free: documents may be
        added meanwhile, and nothing else can change. Raises OSError."""
        fresh = self.disk.write_segments(segments)
        with self.mutex:
            left = self.pending.entries[len(sealed) :]
            self.disk.put_in_place_of(files, fresh, left if sealed else None)
            if sealed:
                self.pending.fill(left)
            self.show()

    def require_writer(self) -> None:
        """Raises NotTheWriter unless this process may write."""
        if not self.disk.is_writing:
            raise NotTheWriter

    def show(self) -> None:
        """Lets searches see what is there now."""
        disk = self.disk
        sealed = [segment for file, segment in disk.segments.items() if file in disk.checked]
        self.snapshot = Snapshot((*sealed, *self._in_memory()))

    def tell(self, problem: str) -> None:
        """Says that something does not work."""
        if problem != self.problem:
            log.warning("%s", problem)
        self.problem = problem

    def tell_damage(self) -> None:
        """Says what was found damaged last."""
        self.tell(f"{self.disk.damage[-1]}. Its text will be indexed again.")

    def _in_memory(self) -> tuple[Segment, ...]:
        return self.pending.segments + self.local.segments
