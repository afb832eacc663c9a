"""The datastore of one vocabulary: documents in, forgetting, and a snapshot to search.

Log-structured: a document goes to the journal and to memory, where it can be found at once; when
enough have gathered they are sealed into a segment; segments of similar size are merged. What is
forgotten is struck out at once and leaves the disk when its segment is written anew.

One process writes (see WriterLock), any number read. Documents that a process adds while another
one writes are found by that process alone. They are not kept here, but the text they came from is
kept elsewhere, and its owner adds them later.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from sssd_chat.datastore.contents import Contents
from sssd_chat.datastore.disk import IsForgotten
from sssd_chat.datastore.document import Document, Label
from sssd_chat.datastore.info import CollectionInfo, MemoryEstimate, inventory
from sssd_chat.datastore.integrity import problems
from sssd_chat.datastore.journal import JournalEntry
from sssd_chat.datastore.lock import WriterLock
from sssd_chat.datastore.segment import Segment
from sssd_chat.datastore.snapshot import Snapshot
from sssd_chat.datastore.tidying import Tidying
from sssd_chat.errors import reason
from sssd_chat.files import make_private_folder

BULK_TOKENS = 1 << 20
"""Tokens of a segment that `add_many` writes."""


class Datastore:
    """See the module. All methods may be called from any thread. Those for upkeep and forgetting
    may take seconds; the others do not wait for them."""

    def __init__(self, folder: Path, wait: float = 0.0) -> None:
        """Opens the datastore in `folder`, as its writer when no other process is; for `wait`
        seconds another writer is asked to step back. Never fails: a folder that cannot be read or
        written gives an empty datastore with a `problem`."""
        self.folder = folder
        self._contents = Contents(folder)
        self._disk = self._contents.disk
        self._mutex, self._upkeep = self._contents.mutex, self._contents.upkeep
        self._tidying = Tidying(self._contents)
        self._lock = WriterLock(folder)
        self._closed = False
        with self._mutex:
            self._open(wait)

    # What is there

    @property
    def snapshot(self) -> Snapshot:
        """What searches look at. Replaced by every change, never changed itself."""
        return self._contents.snapshot

    @property
    def problem(self) -> str:
        """What does not work, in one sentence; empty when all is well."""
        return self._contents.problem

    @property
    def is_writer(self) -> bool:
        """Whether this process may write."""
        return self._disk.is_writing

    @property
    def damage(self) -> list[str]:
        """What was found damaged since the opening, in words."""
        return list(self._disk.damage)

    def collections(self) -> list[CollectionInfo]:
        """All collections with something in them, by name."""
        return inventory(
            (segment, self._disk.size(segment) if segment.file else segment.memory_bytes)
            for segment in self._contents.segments()
        )

    def labels(self, collection: str) -> dict[str, Label]:
        """The documents of a collection, by key."""
        return {
            label.key: label
            for segment in self._contents.segments(collection)
            for label in segment.live_labels()
        }

    def documents(self, collection: str) -> Iterator[Document]:
        """The documents of a collection, oldest first."""
        for segment in self._contents.segments(collection):
            yield from segment.documents()

    def estimate_memory(self) -> MemoryEstimate:
        """Bytes of memory that it takes."""
        segments = self._contents.segments()
        mapped = sum(self._disk.size(segment) for segment in segments if segment.file)
        return MemoryEstimate(sum(segment.memory_bytes for segment in segments), mapped)

    def check_integrity(self) -> list[str]:
        """Everything that is wrong, or was when it was opened, a sentence each."""
        with self._upkeep, self._mutex:
            return list(dict.fromkeys(self.damage + problems(self._disk)))

    # Adding

    def add(self, collection: str, document: Document) -> None:
        """Adds a document, searchable at once. Its key should be new to the collection. Killing
        the program does not lose it. A disk that refuses leaves it in memory alone and sets
        `problem`."""
        with self._mutex:
            part = self._contents.local
            if self.is_writer:
                try:
                    self._disk.append(JournalEntry(collection, document))
                    part = self._contents.pending
                except OSError as error:
                    self._contents.tell(f"New text is not kept in the datastore: {error.strerror}.")
            part.add(collection, document)
            self._contents.show()

    def add_many(
        self,
        collection: str,
        documents: Iterable[Document],
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Adds many documents, a segment of a million tokens at a time. `progress` is told the
        number of documents that are safe; stopped in the middle, it has kept those. Raises OSError
        when the disk refuses, NotTheWriter."""
        batch: list[Document] = []
        size = done = 0
        for document in documents:
            batch.append(document)
            size += len(document.tokens) + 1
            if size >= BULK_TOKENS:
                done += self._add_batch(collection, batch)
                batch, size = [], 0
                if progress is not None:
                    progress(done)
        if batch:
            done += self._add_batch(collection, batch)
        if progress is not None:
            progress(done)

    def _add_batch(self, collection: str, batch: list[Document]) -> int:
        segment = Segment.of(collection, batch)
        with self._upkeep:
            self._contents.require_writer()
            self._contents.put_in_place_of([], [segment])
        return len(batch)

    # Forgetting

    def forget(self, collection: str, keys: Collection[str]) -> int:
        """Takes documents out of all answers, then off the disk; returns how many there were.
        Raises OSError when the disk refuses, NotTheWriter."""
        wanted = set(keys)
        return self._forget(lambda name, key: name == collection and key in wanted)

    def forget_unwritten(self, collection: str, keys: Collection[str]) -> None:
        """Takes out documents that this process alone knows, since another one writes."""
        wanted = set(keys)
        with self._mutex:
            self._contents.local.keep(
                lambda e: e.collection != collection or e.document.label.key not in wanted
            )
            self._contents.show()

    def forget_collection(self, collection: str) -> int:
        """The same for all documents of a collection."""
        return self._forget(lambda name, _: name == collection)

    def forget_everything(self) -> int:
        """The same for all documents."""
        return self._forget(lambda _name, _key: True)

    def _forget(self, is_forgotten: IsForgotten) -> int:
        with self._upkeep:
            with self._mutex:
                self._contents.require_writer()
                count = self._strike(is_forgotten)
            while self._tidying.rewrite_next():
                pass
            # A file that could not be removed still holds what was to be forgotten.
            if left := self._disk.remove_orphans():
                raise left
        return count

    def _strike(self, is_forgotten: IsForgotten) -> int:
        entries, count = self._disk.struck(is_forgotten)

        def is_kept(entry: JournalEntry) -> bool:
            return not is_forgotten(entry.collection, entry.document.label.key)

        kept = list(filter(is_kept, self._contents.pending.entries))
        dropped = len(self._contents.pending.entries) - len(kept)
        if count or dropped:
            self._disk.commit(entries, journal=kept if dropped else None)
            self._contents.pending.keep(is_kept)
        dropped += self._contents.local.keep(is_kept)
        self._contents.show()
        return count + dropped

    # Upkeep

    def tidy(self) -> bool:
        """One piece of upkeep: checks a file, seals what is in memory, or merges segments. Returns
        whether there was something to do; call it till there is not. Not for the thread that
        decodes. Never fails: a disk that refuses sets `problem`."""
        try:
            with self._upkeep:
                return self._tidying.do_next()
        except OSError as error:
            self._contents.tell(f"The datastore cannot be tidied: {error.strerror}.")
            return False

    def seal(self) -> None:
        """Writes what is in memory into segments. Raises OSError, NotTheWriter."""
        with self._upkeep:
            self._tidying.seal()

    def compact(self) -> None:
        """Makes one segment of each collection, or a few where that would be too large. Raises
        OSError, NotTheWriter."""
        with self._upkeep:
            self._tidying.compact()

    def refresh(self) -> None:
        """Sees what another process wrote, becomes the writer when it may, or steps back when
        another process asks for that."""
        with self._upkeep, self._mutex:
            if self._closed:
                return
            try:
                if self.is_writer:
                    if self._lock.is_wanted():
                        self._step_back()
                elif self._lock.try_acquire():
                    self._become_writer()
                elif self._disk.has_changed():
                    self._contents.pending.fill(self._disk.read())
            except OSError as error:
                self._contents.tell(f"The datastore cannot be read: {error.strerror}.")
            self._contents.show()

    def close(self) -> None:
        """Gives up the lock, and nothing is read or written any more. What is in memory is in the
        journal."""
        with self._upkeep, self._mutex:
            self._closed = True
            self._step_back()
            self._contents.snapshot = Snapshot()

    # Inside

    def _open(self, wait: float) -> None:
        writes = False
        try:
            make_private_folder(self.folder)
            writes = self._lock.wait(wait) if wait else self._lock.acquire()
        except OSError as error:
            self._contents.tell(
                f"The datastore in {self.folder} cannot be written: {reason(error)}."
            )
        try:
            if writes:
                self._become_writer()
            else:
                self._contents.pending.fill(self._disk.read())
        except OSError as error:
            self._contents.tell(f"The datastore in {self.folder} cannot be used: {reason(error)}.")
        self._contents.show()

    def _become_writer(self) -> None:
        try:
            self._contents.pending.fill(self._disk.read(repair=True))
            self._disk.start_writing()
        except BaseException:
            self._lock.release()
            raise
        self._contents.local.fill([])
        if self._disk.damage:
            self._contents.tell_damage()

    def _step_back(self) -> None:
        self._disk.stop_writing()
        self._lock.release()
