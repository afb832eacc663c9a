"""What passes between the rooms of reading: documents, limits, sources and the reader protocol."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol

from sssd_chat.errors import UserError

PART_CHARACTERS = 1 << 20
"""A longer text comes as several documents, so that no file has to fit into memory."""


class DocumentError(UserError):
    """A file that gives no text.

    `reason` continues a sentence that starts with the name of the file, without its full stop;
    the message is the whole sentence.
    """

    def __init__(self, reason: str, name: str = "The file") -> None:
        super().__init__(f"{name} {reason}.")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Document:
    """Text as a person would read or write it, with line ends as "\\n"."""

    title: str
    text: str
    notes: tuple[str, ...] = ()
    """What was left out or repaired, each as a short clause."""
    part: int = 1
    """Of a long text, which part of it this is: the texts of the parts, joined, are the whole."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What reading one file may cost."""

    seconds: float = 120.0
    """Time in which the file must be read; waiting for whoever takes the text does not count."""
    memory_bytes: int = 1 << 30
    """Address space of the process that reads it, where the platform can limit it."""
    member_bytes: int = 64 << 20
    """Size of one file inside an archive, unpacked."""
    unpacked_bytes: int = 512 << 20
    """Size of all that is unpacked of an archive, and of the archives in it."""
    unpacked_ratio: int = 200
    """How many times larger than packed a file of more than a megabyte may become."""
    archive_depth: int = 2
    """How many archives may lie in one another."""
    archive_members: int = 50_000
    """Files in one archive."""


@dataclass(slots=True)
class Unpacked:
    """What was unpacked so far, in bytes; shared by an archive and the archives in it."""

    count: int = 0


@dataclass(slots=True)
class Source:
    """A file to read: its name, which tells the format, and its bytes, which can be sought."""

    name: str
    file: BinaryIO
    limits: Limits = field(default_factory=Limits)
    depth: int = 0
    """How many archives the file lies in."""
    unpacked: Unpacked = field(default_factory=Unpacked)
    notes: list[str] = field(default_factory=list)
    """What there is to say about the file as a whole, as short clauses."""


class Reader(Protocol):
    """Reads one format. Each module of `documents/readers` is one."""

    def read(self, source: Source, /) -> Iterator[Document]:
        """The documents of a file, one after the other. Raises DocumentError with the reason why
        there are none, and whatever else a library raises about a damaged file."""


def amount(count: int) -> str:
    """A number of bytes for people, such as "64 MB"."""
    for power, unit in ((3, "GB"), (2, "MB"), (1, "kB")):
        if count >= 1000**power:
            return f"{count / 1000**power:.3g} {unit}"
    return f"{count} bytes"
