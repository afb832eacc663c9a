"""From files to the texts of a collection: only what is new or has changed."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from sssd_chat.conversation.corpus.names import document_name
from sssd_chat.conversation.corpus.report import FileNote, ImportProgress, ImportReport, Stage
from sssd_chat.conversation.corpus.writing import TextWriter
from sssd_chat.conversation.forgetting import forget_parts
from sssd_chat.datastore.texts import StoredText, TextStore, part_name, whole_name
from sssd_chat.documents import (
    Event,
    FileFailed,
    FileRead,
    FileUnwanted,
    Found,
    Limits,
    Piece,
    Reason,
    Skipped,
    WalkSettings,
    read_files,
    walk,
)
from sssd_chat.errors import UserError
from sssd_chat.text import one_line

OnProgress = Callable[[ImportProgress], None]

_UNSEEN = frozenset({Reason.MISSING, Reason.UNREADABLE})
"""Reasons that do not mean that the files are gone for good."""


@dataclass(frozen=True, slots=True)
class ImportSettings:
    """What is imported, and how."""

    paths: tuple[Path, ...]
    """Files, and folders with all that is in them."""
    collection: str
    """See `check_collection_name`."""
    walk: WalkSettings = field(default_factory=WalkSettings)
    limits: Limits = field(default_factory=Limits)
    sync: bool = False
    """Whether documents from `paths` whose files are not found any more are removed."""
    workers: int | None = None
    """Processes that read; None for one for each processor."""


@dataclass(slots=True)
class _Walked:
    """What was found in the paths."""

    files: list[Found] = field(default_factory=list)
    roots: set[str] = field(default_factory=set)
    """Names of what the user named and what is there."""
    unseen: set[str] = field(default_factory=set)
    """Names of what could not be looked into."""


class _Meter:
    """How far the reading is."""

    def __init__(self, files: Sequence[Found], on_progress: OnProgress) -> None:
        self._files = len(files)
        self._bytes = sum(file.size for file in files)
        self._on_progress = on_progress
        self._started = time.monotonic()
        self._done = 0
        self._size = 0
        self._part = 0

    def add(self, file: Found, size: int) -> None:
        """So much text of a file came; it may be more than the file has bytes."""
        self._part = min(self._part + size, file.size)
        self._show()

    def finish(self, file: Found) -> None:
        """Nothing more will come of a file."""
        self._done += 1
        self._size += file.size
        self._part = 0
        self._show()

    def _show(self) -> None:
        share = (self._size + self._part) / self._bytes if self._bytes else 1.0
        seconds = time.monotonic() - self._started
        self._on_progress(
            ImportProgress(Stage.READING, self._done, self._files, share, seconds=seconds)
        )


@dataclass(frozen=True, slots=True)
class _Repeat:
    """A file of which another one has the same content."""

    file: Found
    digest: str


class Importer:
    """One import. What is read is kept file by file, so it may be stopped or killed at any time and
    run again, which then takes up where it was."""

    def __init__(
        self,
        texts: TextStore,
        settings: ImportSettings,
        *,
        cancelled: threading.Event | None = None,
        on_progress: OnProgress = lambda _: None,
    ) -> None:
        """Setting `cancelled` ends it soon, with what is done kept."""
        self.report = ImportReport(settings.collection)
        self._texts = texts
        self._settings = settings
        self._cancelled = cancelled or threading.Event()
        self._on_progress = on_progress
        self._digests: dict[str, str] = {}
        """Of each document in the collection, by its name."""
        self._parts: dict[str, list[str]] = {}
        """The names of the parts of each document that has several."""
        self._taken: set[str] = set()
        """Digests of which there is a document, or soon."""
        self._reasons: dict[str, str] = {}
        """Why files of a digest cannot be read."""
        self._hashes: dict[Path, str] = {}
        """Of the files that are being read."""
        self._notes: dict[str, None] = {}
        """About the file that is being read, each once and in order."""
        self._started = time.monotonic()

    def run(self) -> ImportReport:
        """Imports. Raises UserError when the texts cannot be kept, or files cannot be read at all;
        what is kept until then stays."""
        try:
            self._import(self._walk())
        except sqlite3.Error as error:
            raise UserError(
                f"The imported texts cannot be kept: {error}. What was imported before stays; "
                "import again to go on."
            ) from error
        return self._finished_report()

    def _import(self, walked: _Walked) -> None:
        self._look_up()
        repeats = self._read(walked.files)
        if self._settings.sync and not self._cancelled.is_set():
            self._remove_vanished(walked)
        while repeats and not self._cancelled.is_set():
            self._look_up()
            # The document of the same content may have been replaced, removed, or have failed.
            left = [repeat.file for repeat in repeats if repeat.digest not in self._taken]
            self.report.same += len(repeats) - len(left)
            repeats = self._read(left) if left else []

    def preview(self) -> ImportReport:
        """Says what `run` would take, and changes nothing: `new` and `changed` are the files that
        would be read, of which some may turn out to hold no text."""
        walked = self._walk()
        self._look_up()
        found = {file.path: file for file in walked.files}
        report = self.report
        changed: dict[Path, bool] = {}

        def look(path: Path, digest: str) -> bool:
            name = document_name(path)
            if self._digests.get(name) == digest:
                report.unchanged += 1
            elif digest in self._taken:
                report.same += 1
            else:
                self._taken.add(digest)
                changed[path] = name in self._digests
            return False

        meter = _Meter(walked.files, self._on_progress)
        for event in self._events(walked.files, look):
            if isinstance(event, FileFailed):
                report.failed.append(FileNote(event.path, event.sentence))
            meter.finish(found[event.path])
        for path in sorted(changed):
            (report.changed if changed[path] else report.new).append(path)
            report.file_bytes += found[path].size
        if self._settings.sync:
            report.removed = len(self._vanished(walked))
        return self._finished_report()

    def _finished_report(self) -> ImportReport:
        self.report.stopped = self._cancelled.is_set()
        self.report.seconds = time.monotonic() - self._started
        return self.report

    # Finding files

    def _walk(self) -> _Walked:
        walked = _Walked()
        for item in walk(self._settings.paths, self._settings.walk):
            if self._cancelled.is_set():
                break
            if isinstance(item, Found):
                walked.files.append(item)
                walked.roots.add(document_name(item.root))
                self._on_progress(ImportProgress(Stage.FINDING, len(walked.files)))
            else:
                self._skip(item, walked)
        for path in map(_absolute, self._settings.paths):
            # A folder in which nothing is left was looked into, too.
            if path.is_dir():
                walked.roots.add(document_name(path))
        return walked

    def _skip(self, item: Skipped, walked: _Walked) -> None:
        if item.reason in _UNSEEN:
            walked.unseen.add(document_name(item.path))
        if item.named:
            # Somebody waits for what they named themselves.
            clause = item.detail or f"is {item.reason.value}"
            if item.reason is Reason.HUGE:
                clause = f"is {item.reason.value}: {item.detail}"
            self.report.failed.append(FileNote(item.path, f"{one_line(str(item.path))} {clause}."))
        else:
            self.report.skipped[item.reason.value] += 1

    def _look_up(self) -> None:
        """What the collection holds."""
        self._digests, self._parts = {}, {}
        for part, digest in self._texts.digests(self._settings.collection).items():
            name = whole_name(part)
            if name == part:
                self._digests[name] = digest
            else:
                self._parts.setdefault(name, []).append(part)
        self._taken = set(self._digests.values())

    # Reading

    def _read(self, files: Sequence[Found]) -> list[_Repeat]:
        """Reads what is new; returns the files of which another one has the same content."""
        found = {file.path: file for file in files}
        meter = _Meter(files, self._on_progress)
        repeats: list[_Repeat] = []
        writer = TextWriter(self._texts, self._settings.collection)
        part = 0
        try:
            for event in self._events(files, self._is_wanted):
                file = found[event.path]
                if isinstance(event, Piece):
                    part += 1
                    self._keep(event, part, writer)
                    meter.add(file, len(event.document.text))
                    continue
                self._end(event, part, writer)
                if isinstance(event, FileUnwanted) and self._is_repeat(event, writer):
                    repeats.append(_Repeat(file, event.sha256))
                meter.finish(file)
                part = 0
        except BaseException:
            # Files that are whole are kept, whatever went wrong with another.
            with contextlib.suppress(sqlite3.Error):
                writer.drop()
                writer.flush()
            raise
        writer.drop()
        writer.flush()
        return repeats

    def _events(
        self, files: Iterable[Found], wanted: Callable[[Path, str], bool]
    ) -> Iterator[Event]:
        return read_files(
            (file.path for file in files),
            self._settings.limits,
            workers=self._settings.workers,
            wanted=wanted,
            cancelled=self._cancelled,
        )

    def _is_wanted(self, path: Path, digest: str) -> bool:
        """Whether a file of this digest is to be read."""
        if self._digests.get(document_name(path)) == digest:
            return False
        if digest in self._taken or digest in self._reasons:
            return False
        self._taken.add(digest)
        self._hashes[path] = digest
        return True

    def _keep(self, piece: Piece, part: int, writer: TextWriter) -> None:
        path, document = piece.path, piece.document
        name = part_name(document_name(path), part)
        writer.add(StoredText(name, document.text, self._hashes[path], document.title))
        self.report.text_bytes += len(document.text.encode())
        self._notes.update(dict.fromkeys(document.notes))

    def _end(
        self, event: FileRead | FileUnwanted | FileFailed, parts: int, writer: TextWriter
    ) -> None:
        """The last that is heard of a file."""
        report = self.report
        digest = self._hashes.pop(event.path, None)
        notes, self._notes = self._notes, {}
        if isinstance(event, FileFailed):
            writer.drop()
            report.failed.append(FileNote(event.path, event.sentence))
            if digest is not None:
                self._reasons[digest] = event.reason
        elif isinstance(event, FileRead):
            name = document_name(event.path)
            (report.changed if name in self._digests else report.new).append(event.path)
            report.documents += event.documents
            report.file_bytes += event.size
            notes.update(dict.fromkeys(event.notes))
            report.notes += [FileNote(event.path, note) for note in notes]
            kept = {part_name(name, part + 1) for part in range(parts)}
            writer.finish(part for part in self._parts.get(name, []) if part not in kept)
            self._digests[name] = event.sha256

    def _is_repeat(self, event: FileUnwanted, writer: TextWriter) -> bool:
        """Whether a file was left out because another one has its content. Its own document, of
        what it held before, goes."""
        name = document_name(event.path)
        if self._digests.get(name) == event.sha256:
            self.report.unchanged += 1
            return False
        if event.sha256 in self._reasons:
            sentence = f"{one_line(str(event.path))} {self._reasons[event.sha256]}."
            self.report.failed.append(FileNote(event.path, sentence))
            return False
        if self._digests.pop(name, None) is not None:
            writer.finish([name, *self._parts.get(name, [])])
        return True

    # What is not there any more

    def _vanished(self, walked: _Walked) -> list[str]:
        """The documents that came from the paths, and whose files were not found there now."""
        found = {document_name(file.path) for file in walked.files}
        return [
            name
            for name in self._digests
            if name not in found
            and _lies_in(name, walked.roots)
            and not _lies_in(name, walked.unseen)
        ]

    def _remove_vanished(self, walked: _Walked) -> None:
        vanished = self._vanished(walked)
        if vanished:
            parts = [part for name in vanished for part in (name, *self._parts.get(name, []))]
            forget_parts(self._settings.collection, parts)
            self.report.removed = len(vanished)


def _absolute(path: Path) -> Path:
    """As `walk` names it."""
    return Path(os.path.abspath(path))  # noqa: PTH100


def _lies_in(name: str, places: set[str]) -> bool:
    path = PurePath(name)
    return any(str(place) in places for place in (path, *path.parents))
