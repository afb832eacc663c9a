"""What a datastore tells about itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sssd_chat.datastore.segment import Segment


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A collection, as `datastore list` shows it."""

    name: str
    documents: int = 0
    tokens: int = 0
    """Tokens of its documents."""
    stored_bytes: int = 0
    """Bytes of its files, and of its part of the memory."""
    segments: int = 0


def inventory(segments: Iterable[tuple[Segment, int]]) -> list[CollectionInfo]:
    """All collections with something in them, by name. Each segment comes with its size in
    bytes."""
    found: dict[str, CollectionInfo] = {}
    for segment, size in segments:
        old = found.get(segment.collection, CollectionInfo(segment.collection))
        documents = len(segment.starts) - 1 - len(segment.struck)
        found[old.name] = CollectionInfo(
            old.name,
            old.documents + documents,
            old.tokens + len(segment) - segment.struck_tokens - documents,
            old.stored_bytes + size,
            old.segments + 1,
        )
    return [found[name] for name in sorted(found) if found[name].documents]


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Bytes of memory that the datastore takes."""

    private: int
    """Its own: what is not sealed yet."""
    mapped: int
    """Mapped files, whose pages the system takes back when it needs the room."""


class NotTheWriter(PermissionError):
    """Another process writes to the datastore."""

    def __init__(self) -> None:
        super().__init__(13, "another program is writing to it")
