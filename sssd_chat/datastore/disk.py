"""The files of a datastore: one state after the other, each swapped in whole.

A change writes its new files first and the manifest last. What a crash leaves behind belongs to no
manifest, and the next writer removes it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sssd_chat.datastore.journal import JournalEntry, JournalWriter, as_bytes, read_journal
from sssd_chat.datastore.manifest import (
    JOURNAL_SUFFIX,
    NAME,
    SEGMENT_SUFFIX,
    DamagedManifest,
    Manifest,
    SegmentEntry,
    is_own_file,
    load_manifest,
    save_manifest,
)
from sssd_chat.datastore.segment import Segment
from sssd_chat.datastore.segment_file import (
    DamagedSegment,
    check_body,
    open_segment,
    write_segment,
)
from sssd_chat.files import write_atomically

log = logging.getLogger(__name__)

_LOOKS = 3
"""How often a reader looks again when a writer has swapped files under its eyes."""

IsForgotten = Callable[[str, str], bool]
"""Whether the document of this collection and key is forgotten."""


class Disk:
    """For one thread at a time. Whoever changes anything must hold the writer's lock."""

    def __init__(self, folder: Path) -> None:
        """Reads nothing yet."""
        self.folder = folder
        self.manifest = Manifest()
        self.segments: dict[str, Segment] = {}
        """The mapped segments by file, oldest first."""
        self.checked: set[str] = set()
        """Files whose whole content was compared with its checksum. Only these may be searched:
        the search in C trusts its suffix array."""
        self.damage: list[str] = []
        """What was found damaged since the folder was opened, in words."""
        self._journal: JournalWriter | None = None
        self._seen: tuple[int, ...] = ()

    @property
    def is_writing(self) -> bool:
        """Whether the journal is open for writing."""
        return self._journal is not None

    # Reading

    def read(self, repair: bool = False) -> list[JournalEntry]:
        """Reads the state and returns what the journal holds. What is damaged is left out; with
        `repair` it is taken out of the state too. Raises OSError."""
        for look in range(_LOOKS):
            before = self._status(NAME)
            self.manifest = self._read_manifest(repair)
            self._seen = before + self._status(self.manifest.journal)
            unusable = self._map_segments()
            if not unusable or repair or look == _LOOKS - 1:
                break
        self.set_aside(unusable, repair)
        journal = self.folder / self.manifest.journal
        content = read_journal(journal)
        if content.damage:
            self._found(f"{journal} is damaged: {content.damage}")
        return content.entries

    def _read_manifest(self, repair: bool) -> Manifest:
        try:
            return load_manifest(self.folder)
        except DamagedManifest as error:
            self._found(f"{self.folder / NAME} is damaged: {error}")
            numbers = [int(p.name[:8]) for p in self.folder.iterdir() if p.name[:8].isdecimal()]
            number = max(numbers, default=0) + 1
            fresh = Manifest((), f"{number:08d}{JOURNAL_SUFFIX}", number + 1)
            if repair:
                save_manifest(self.folder, fresh)
            return fresh

    def _map_segments(self) -> dict[str, str]:
        """Maps what the manifest names; returns the files that cannot be used, and why."""
        mapped: dict[str, Segment] = {}
        unusable: dict[str, str] = {}
        for entry in self.manifest.segments:
            try:
                segment = self.segments.get(entry.file)
                if segment is None:
                    segment = open_segment(self.folder / entry.file, entry.collection)
                segment.strike(entry.struck)
            except FileNotFoundError:
                unusable[entry.file] = "it is missing"
            except (DamagedSegment, IndexError) as error:
                unusable[entry.file] = str(error)
            else:
                mapped[entry.file] = segment
        self.segments = mapped
        self.checked &= set(mapped)
        return unusable

    def has_changed(self) -> bool:
        """Whether another process wrote something since the last `read`."""
        return self._state() != self._seen

    def _state(self) -> tuple[int, ...]:
        return self._status(NAME) + self._status(self.manifest.journal)

    def _status(self, name: str) -> tuple[int, ...]:
        try:
            status = (self.folder / name).stat()
        except OSError:
            return (0, 0, 0)
        return (status.st_ino, status.st_mtime_ns, status.st_size)

    def unchecked(self) -> Segment | None:
        """The smallest segment that was not compared with its checksum yet."""
        waiting = [s for file, s in self.segments.items() if file not in self.checked]
        return min(waiting, key=len, default=None)

    def struck(self, is_forgotten: IsForgotten) -> tuple[list[SegmentEntry], int]:
        """The segments of the state with what is forgotten struck out, for `commit`, and how many
        documents of them that is."""
        entries = []
        count = 0
        for entry in self.manifest.segments:
            labels = enumerate(self.segments[entry.file].labels)
            numbers = {at for at, label in labels if is_forgotten(entry.collection, label.key)}
            struck = numbers.union(entry.struck)
            count += len(struck) - len(entry.struck)
            entries.append(replace(entry, struck=tuple(sorted(struck))))
        return entries, count

    # Writing

    def start_writing(self) -> None:
        """Opens the journal and removes what belongs to no state. Raises OSError."""
        path = self.folder / self.manifest.journal
        self._journal = JournalWriter(path, read_journal(path).length)
        self.remove_orphans()

    def stop_writing(self) -> None:
        """Closes the journal."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None
        self._seen = self._state()

    def append(self, entry: JournalEntry) -> None:
        """Adds a document to the journal. Raises OSError; nothing of it is kept then."""
        assert self._journal is not None
        self._journal.append(entry)

    def put_in_place_of(
        self,
        files: Sequence[str],
        fresh: Sequence[Segment],
        journal: Sequence[JournalEntry] | None = None,
    ) -> None:
        """Makes segments that were just written part of the state, in place of those in `files`
        or as the newest ones. For `journal` see `commit`. Raises OSError, and the old state holds
        then."""
        new = [SegmentEntry(s.file, s.collection, len(s)) for s in fresh]
        entries: list[SegmentEntry] = []
        for entry in self.manifest.segments:
            if files and entry.file == files[-1]:
                entries += new
            elif entry.file not in files:
                entries.append(entry)
        self.commit(entries if files else entries + new, fresh, journal)

    def write_segments(self, segments: Iterable[Segment]) -> list[Segment]:
        """Writes segments from memory to files that belong to no state yet, and maps them. May be
        done while another thread appends. Raises OSError."""
        number = self.manifest.next_number
        mapped = []
        for segment in segments:
            name = f"{number:08d}{SEGMENT_SUFFIX}"
            write_segment(self.folder / name, segment)
            mapped.append(open_segment(self.folder / name, segment.collection))
            number += 1
        self.manifest = replace(self.manifest, next_number=number)
        return mapped

    def commit(
        self,
        entries: Sequence[SegmentEntry],
        fresh: Sequence[Segment] = (),
        journal: Sequence[JournalEntry] | None = None,
    ) -> None:
        """Makes these segments the state; `fresh` are those of them that were just written.
        With `journal`, a new journal of these documents takes the place of the old one. Raises
        OSError, and the old state holds then."""
        manifest = replace(self.manifest, segments=tuple(entries))
        writer = None
        if journal is not None:
            name = f"{manifest.next_number:08d}{JOURNAL_SUFFIX}"
            manifest = replace(manifest, journal=name, next_number=manifest.next_number + 1)
            writer = self._new_journal(self.folder / name, journal)
        try:
            save_manifest(self.folder, manifest)
        except BaseException:
            if writer is not None:
                writer.close()
            raise
        self.manifest = manifest
        if writer is not None and self._journal is not None:
            self._journal.close()
        self._journal = writer or self._journal
        known = self.segments | {segment.file: segment for segment in fresh}
        self.checked |= {segment.file for segment in fresh}
        self.segments = {entry.file: known[entry.file] for entry in entries}
        self.checked &= set(self.segments)
        for entry in entries:
            self.segments[entry.file].strike(entry.struck)
        self.remove_orphans()

    @staticmethod
    def _new_journal(path: Path, entries: Sequence[JournalEntry]) -> JournalWriter:
        # Opened before any manifest names it: a document must not go to a journal of the past.
        write_atomically(path, as_bytes(entries))
        return JournalWriter(path, path.stat().st_size)

    def set_aside(self, damaged: Mapping[str, str], repair: bool) -> None:
        """Does without damaged segments, given by file with what is wrong. Their documents are
        missing then, so that whoever owns their text adds them again. With `repair` the files go,
        too."""
        for file, why in damaged.items():
            self._found(f"{self.folder / file} is damaged: {why}")
            self.do_without(file)
        if damaged and repair:
            self.commit(self.manifest.segments)

    def do_without(self, file: str) -> None:
        """Takes a segment out of the state, but for what is on the disk."""
        self.segments.pop(file, None)
        self.checked.discard(file)
        kept = tuple(entry for entry in self.manifest.segments if entry.file != file)
        self.manifest = replace(self.manifest, segments=kept)

    def check(self, segment: Segment) -> str | None:
        """What is wrong with the file of a segment; None when all is well. Raises OSError."""
        try:
            check_body(self.folder / segment.file)
        except DamagedSegment as error:
            return str(error)
        except FileNotFoundError:
            return "it is missing"
        return None

    def remove_orphans(self) -> OSError | None:
        """Removes files that belong to no state; returns why one is still there."""
        keep = {NAME, *self.manifest.files}
        left = None
        try:
            for path in list(self.folder.iterdir()):
                if is_own_file(path.name) and path.name not in keep:
                    path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("%s: a file that is not needed any more stays: %s", self.folder, error)
            left = error
        return left

    def size(self, segment: Segment) -> int:
        """Bytes of a segment's file."""
        try:
            return (self.folder / segment.file).stat().st_size
        except OSError:
            return 0

    def _found(self, damage: str) -> None:
        if damage not in self.damage:
            log.warning("%s", damage)
            self.damage.append(damage)
