"""The file of a segment: a header, the tokens, the suffix array, the documents.

All numbers but the tokens are little-endian. The header names the lengths and checksums of the
rest; the body is mapped into memory and read only where a search looks.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from sssd_chat.datastore.document import Label
from sssd_chat.datastore.segment import Segment
from sssd_chat.datastore.suffix_array import TOKEN_BYTES
from sssd_chat.files import write_atomically

MAGIC = b"sssdseg1"
_HEADER = struct.Struct("<8sQQQIII")
"""Magic, tokens, documents, bytes of the labels, checksum of tokens and suffix array, checksum of
starts and labels, checksum of the header before it."""
HEADER_BYTES = 64
_CHUNK = 1 << 22

_Number = TypeVar("_Number", bound=np.generic)


class DamagedSegment(Exception):
    """A file is not what was written; the message says what is wrong with it."""


def write_segment(path: Path, segment: Segment) -> None:
    """Writes a segment so that the file is there whole or not at all. Raises OSError."""
    labels = _packed(segment.labels)
    text, order = segment.text.data, _little(segment.order)
    starts = _little(segment.starts)
    body = zlib.crc32(order, zlib.crc32(text))
    tail = zlib.crc32(labels, zlib.crc32(starts))
    head = _header(segment, len(labels), body, tail)
    write_atomically(path, [head, text, order, starts, labels])


def open_segment(path: Path, collection: str) -> Segment:
    """Maps a segment. The body is not read, so its checksum is not looked at: see `check_body`.

    Raises DamagedSegment when what was read is damaged, OSError.
    """
    with path.open("rb", buffering=0) as file:
        head = file.read(HEADER_BYTES)
        tokens, documents, label_bytes, _, tail = _parsed(head)
        expected = _size(tokens, documents, label_bytes)
        if os.fstat(file.fileno()).st_size != expected:
            raise DamagedSegment("it is shorter or longer than it says")
        content = mmap.mmap(file.fileno(), expected, access=mmap.ACCESS_READ)
    body = HEADER_BYTES + tokens * TOKEN_BYTES
    text = np.frombuffer(content, np.uint8, tokens * TOKEN_BYTES, HEADER_BYTES)
    order = _native(np.frombuffer(content, np.int32, tokens, body))
    at = body + tokens * 4
    starts = _native(np.frombuffer(content, np.uint32, documents + 1, at))
    label_at = at + 4 * (documents + 1)
    if zlib.crc32(memoryview(content)[at:]) != tail:
        raise DamagedSegment("its list of documents is damaged")

    def read_labels() -> Sequence[Label]:
        return _unpacked(content[label_at:])

    return Segment(collection, text, order, starts, read_labels, path.name)


def check_body(path: Path) -> None:
    """Compares the whole file with its checksums. Raises DamagedSegment or OSError."""
    with path.open("rb", buffering=0) as file:
        tokens, documents, label_bytes, body, tail = _parsed(file.read(HEADER_BYTES))
        if os.fstat(file.fileno()).st_size != _size(tokens, documents, label_bytes):
            raise DamagedSegment("it is shorter or longer than it says")
        if _checksum(file.fileno(), tokens * (TOKEN_BYTES + 4)) != body:
            raise DamagedSegment("its checksum does not match")
        if _checksum(file.fileno(), 4 * (documents + 1) + label_bytes) != tail:
            raise DamagedSegment("its list of documents is damaged")


def _checksum(handle: int, size: int) -> int:
    checksum = 0
    for chunk in _chunks(handle, size):
        checksum = zlib.crc32(chunk, checksum)
    return checksum


def _chunks(handle: int, size: int) -> Iterator[bytes]:
    while size > 0 and (chunk := os.read(handle, min(size, _CHUNK))):
        size -= len(chunk)
        yield chunk


def _header(segment: Segment, label_bytes: int, body: int, tail: int) -> bytes:
    documents = len(segment.starts) - 1
    head = _HEADER.pack(MAGIC, len(segment), documents, label_bytes, body, tail, 0)[:-4]
    return (head + struct.pack("<I", zlib.crc32(head))).ljust(HEADER_BYTES, b"\0")


def _parsed(head: bytes) -> tuple[int, int, int, int, int]:
    if len(head) < HEADER_BYTES:
        raise DamagedSegment("it is shorter than its header")
    magic, tokens, documents, label_bytes, body, tail, checksum = _HEADER.unpack_from(head)
    if magic != MAGIC:
        raise DamagedSegment("it is not a segment")
    if zlib.crc32(head[: _HEADER.size - 4]) != checksum or any(head[_HEADER.size :]):
        raise DamagedSegment("its header is damaged")
    return tokens, documents, label_bytes, body, tail


def _size(tokens: int, documents: int, label_bytes: int) -> int:
    return HEADER_BYTES + tokens * (TOKEN_BYTES + 4) + 4 * (documents + 1) + label_bytes


def _native(values: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """Little-endian numbers in the byte order of the machine."""
    return values if sys.byteorder == "little" else values.byteswap()


def _little(values: npt.NDArray[np.generic]) -> memoryview:
    """The bytes of an array, in little-endian order."""
    little = values if sys.byteorder == "little" else values.byteswap()
    return np.ascontiguousarray(little).view(np.uint8).data


def _packed(labels: Sequence[Label]) -> bytes:
    return zlib.compress(json.dumps([astuple(label) for label in labels]).encode(), 1)


def _unpacked(content: bytes) -> Sequence[Label]:
    return tuple(Label(*fields) for fields in json.loads(zlib.decompress(content)))
