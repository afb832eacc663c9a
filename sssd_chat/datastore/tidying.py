"""The upkeep of a datastore: checking its files, sealing what is in memory, merging segments, and
writing anew those of which something was forgotten. `upkeep` says which are to be merged."""

from __future__ import annotations

from sssd_chat.datastore.contents import Contents
from sssd_chat.datastore.pending import by_collection
from sssd_chat.datastore.segment import Segment
from sssd_chat.datastore.upkeep import compacting_merges, due_merge

SEAL_TOKENS = 32_768
"""Tokens in memory from which on they are sealed into segments."""
MOST_MERGED = 1 << 26
"""Tokens of the largest segment that merging makes. Sorting takes up to 24 bytes a token (offsets,
text and selection), so this one takes 1.6 GB."""


class Tidying:
    """Changes segments, while its caller holds the lock for upkeep. All methods raise OSError when
    the disk refuses."""

    def __init__(self, contents: Contents) -> None:
        """For the datastore with these contents."""
        self._contents = contents
        self._disk = contents.disk

    def do_next(self) -> bool:
        """The most urgent piece of upkeep; False when there is none."""
        return (
            self._check_next()
            or self._seal_when_due()
            or self._merge_memory()
            or self.rewrite_next()
            or self._merge_next()
        )

    def check_all(self) -> None:
        """Compares all files that were not looked at yet with their checksums."""
        while self._check_next():
            pass

    def seal(self) -> None:
        """Writes what is in memory into segments. Raises NotTheWriter."""
        self._contents.require_writer()
        with self._contents.mutex:
            sealed = list(self._contents.pending.entries)
        if sealed:
            grouped = by_collection(sealed)
            segments = [Segment.of(name, documents) for name, documents in grouped.items()]
            self._contents.put_in_place_of([], segments, sealed)

    def compact(self) -> None:
        """Makes one segment of each collection, or a few where that would be too large. Raises
        NotTheWriter."""
        self.seal()
        self.check_all()
        for files in compacting_merges(self._disk.manifest.segments, MOST_MERGED):
            self._merge(files)

    def rewrite_next(self) -> bool:
        """Writes one segment anew without its struck documents; False when none has any."""
        with self._contents.mutex:
            struck = next((s for s in self._disk.segments.values() if s.struck), None)
            is_checked = struck is not None and struck.file in self._disk.checked
        if struck is None or not self._disk.is_writing:
            return False
        if is_checked:
            self._merge([struck.file])
        else:
            # Writing damaged tokens anew would give them a fresh checksum.
            self._check(struck)
        return True

    def _check_next(self) -> bool:
        """Compares the smallest file that was not looked at yet with its checksum."""
        with self._contents.mutex:
            segment = self._disk.unchecked()
        if segment is not None:
            self._check(segment)
        return segment is not None

    def _check(self, segment: Segment) -> None:
        disk = self._disk
        damage = disk.check(segment)
        with self._contents.mutex:
            if damage and not disk.is_writing and not disk.size(segment):
                # The writer has merged the segment away.
                disk.do_without(segment.file)
            elif damage:
                disk.set_aside({segment.file: damage}, disk.is_writing)
                self._contents.tell_damage()
            elif segment.file in disk.segments:
                disk.checked.add(segment.file)
            self._contents.show()

    def _seal_when_due(self) -> bool:
        if not self._disk.is_writing or self._contents.pending.tokens < SEAL_TOKENS:
            return False
        self.seal()
        return True

    def _merge_memory(self) -> bool:
        for part in (self._contents.pending, self._contents.local):
            if joined := part.due_merge():
                merged = Segment.merged(joined)
                with self._contents.mutex:
                    part.put_in_place_of(joined, merged)
                    self._contents.show()
                return True
        return False

    def _merge_next(self) -> bool:
        is_writing = self._disk.is_writing
        files = due_merge(self._disk.manifest.segments, MOST_MERGED) if is_writing else []
        if files:
            self._merge(files)
        return bool(files)

    def _merge(self, files: list[str]) -> None:
        """Replaces segments by one without struck documents."""
        segments = [self._disk.segments[file] for file in files]
        live = [s for s in segments if len(s.struck) < len(s.starts) - 1]
        merged = [Segment.merged(live)] if live else []
        self._contents.put_in_place_of(files, merged)
