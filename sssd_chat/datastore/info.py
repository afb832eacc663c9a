"""What a datastore tells about itself."""

from __future__ import annotations

from dataclasses import dataclass


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
