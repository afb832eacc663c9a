"""The journal: documents that are not in a segment yet, appended one by one.

A record is its length, a checksum, a checksum of these two, and the content: the document's label
and tokens. A record that a crash cut off is not read, and the next writer removes it.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sssd_chat.datastore.document import Document, Label
from sssd_chat.files import make_private_folder, sync_folder, write_all

MAGIC = b"sssdlog1"
_FRAME = struct.Struct("<III")
"""Bytes of the content, its checksum, and the checksum of the two."""
_LABEL_LENGTH = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """A document and the collection that it belongs to."""

    collection: str
    document: Document


@dataclass(frozen=True, slots=True)
class JournalContent:
    """What a journal holds."""

    entries: list[JournalEntry]
    length: int
    """Bytes up to the end of the last whole record."""
    damage: str = ""
    """Why what stands after that is no record, in a few words; empty when nothing stands there,
    or a record that a crash cut off."""


def read_journal(path: Path) -> JournalContent:
    """All whole records; none when there is no such file. A damaged record ends the reading.
    Raises OSError."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        content = b""
    if content[: len(MAGIC)] != MAGIC:
        damage = "" if MAGIC.startswith(content) else "it is not a journal"
        return JournalContent([], 0, damage)
    entries: list[JournalEntry] = []
    at = len(MAGIC)
    while len(content) - at >= _FRAME.size:
        size, checksum, own = _FRAME.unpack_from(content, at)
        if own != zlib.crc32(content[at : at + _FRAME.size - 4]):
            return JournalContent(entries, at, "the head of a record is damaged")
        record = content[at + _FRAME.size : at + _FRAME.size + size]
        if len(record) < size:
            break
        if zlib.crc32(record) != checksum:
            return JournalContent(entries, at, "a record is damaged")
        entries.append(_parsed(record))
        at += _FRAME.size + size
    return JournalContent(entries, at)


def _parsed(record: bytes) -> JournalEntry:
    (length,) = _LABEL_LENGTH.unpack_from(record)
    tokens = _LABEL_LENGTH.size + length
    collection, key, added, digest = json.loads(record[_LABEL_LENGTH.size : tokens])
    values = np.frombuffer(record, "<u4", offset=tokens).astype(np.uint32)
    return JournalEntry(collection, Document(Label(key, added, digest), values))


def _record(entry: JournalEntry) -> bytes:
    label = entry.document.label
    head = json.dumps([entry.collection, label.key, label.added, label.digest]).encode()
    tokens = entry.document.tokens.astype("<u4").tobytes()
    content = _LABEL_LENGTH.pack(len(head)) + head + tokens
    frame = _FRAME.pack(len(content), zlib.crc32(content), 0)[:-4]
    return frame + struct.pack("<I", zlib.crc32(frame)) + content


def as_bytes(entries: Iterable[JournalEntry]) -> Iterator[bytes]:
    """The content of a journal with these records."""
    yield MAGIC
    yield from map(_record, entries)


class JournalWriter:
    """Appends records to a journal."""

    def __init__(self, path: Path, length: int) -> None:
        """Goes on after `length` bytes; what stands after them is cut off. Makes the file when it
        is not there. Raises OSError."""
        self.path = path
        make_private_folder(path.parent)
        is_new = not path.exists()
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            if is_new:
                sync_folder(path.parent)
            os.ftruncate(self._handle, length)
        except BaseException:
            os.close(self._handle)
            raise
        self._length = length
        self._is_torn = False
        """Whether part of a record stands after the last whole one."""

    def append(self, entry: JournalEntry) -> None:
        """Adds a document. Raises OSError, and nothing of it is read from the file then.

        Not flushed to the disk itself: killing the program loses nothing, and after a failure of
        the whole machine the text that the document was made from is still there.
        """
        record = _record(entry)
        if self._is_torn:
            self._cut()
        try:
            if not self._length:
                write_all(self._handle, MAGIC)
            write_all(self._handle, record)
        except BaseException:
            self._is_torn = True
            # Where this fails too, it is made up for before the next record.
            with contextlib.suppress(OSError):
                self._cut()
            raise
        self._length += len(record) + (0 if self._length else len(MAGIC))

    def _cut(self) -> None:
        os.ftruncate(self._handle, self._length)
        self._is_torn = False

    def close(self) -> None:
        """Closes the file."""
        os.close(self._handle)
