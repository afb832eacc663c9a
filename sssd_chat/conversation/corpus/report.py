"""What an import did, and how far it is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path


class Stage(Enum):
    """What an import is at; the value is for people."""

    FINDING = "looking for files"
    READING = "reading"
    INDEXING = "indexing"


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """How far an import is."""

    stage: Stage
    done: int = 0
    """Files that were looked at, or documents that were indexed."""
    total: int = 0
    """How many of these there are; 0 while it is not known."""
    share: float = 0.0
    """Of the stage that is done, by bytes; 0 to 1."""
    tokens: int = 0
    """Tokens that were indexed."""
    seconds: float = 0.0
    """Since the stage began."""

    @property
    def seconds_left(self) -> float | None:
        """Until the stage ends, if it goes on like this; None while nothing can be said."""
        return self.seconds * (1 - self.share) / self.share if self.share > 0 else None


@dataclass(frozen=True, slots=True)
class FileNote:
    """What there is to say about a file."""

    path: Path
    text: str
    """A sentence that holds the path, or a clause."""


@dataclass(slots=True)
class ImportReport:
    """The outcome. Counts are files, unless they say otherwise."""

    collection: str
    new: list[Path] = field(default_factory=list)
    """Files whose text was taken, and of which there was none before."""
    changed: list[Path] = field(default_factory=list)
    """Files whose text took the place of an older one."""
    unchanged: int = 0
    """Files that were the same at the last import."""
    same: int = 0
    """Files with the content of another one, which is kept once."""
    removed: int = 0
    """Files that are not there any more and whose text was removed."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Files and whole folders that were left out, by reason."""
    failed: list[FileNote] = field(default_factory=list)
    """Files that gave no text, a sentence for each."""
    notes: list[FileNote] = field(default_factory=list)
    """What was left out or repaired in files that were read, as clauses."""
    documents: int = 0
    """Texts that were taken: a file may hold several."""
    file_bytes: int = 0
    """Bytes of the files that were read."""
    text_bytes: int = 0
    """Bytes of their text."""
    tokens: int | None = None
    """Tokens that the whole collection has in the index; None when it was not indexed."""
    seconds: float = 0.0
    """Time that it took."""
    stopped: bool = False
    """Whether it was asked to stop before its end."""

    @property
    def read(self) -> int:
        """Files whose text was taken."""
        return len(self.new) + len(self.changed)
