"""The manifest: which files make up the datastore. Swapped in one piece, so that a crash leaves the
old state or the new."""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

from sssd_chat.files import write_atomically

FORMAT = 1
NAME = "manifest.json"
SEGMENT_SUFFIX = ".segment"
JOURNAL_SUFFIX = ".journal"
_FILE = re.compile(rf"\d{{8}}(?:{re.escape(SEGMENT_SUFFIX)}|{re.escape(JOURNAL_SUFFIX)})")


class DamagedManifest(Exception):
    """The manifest is not what was written."""


@dataclass(frozen=True, slots=True)
class SegmentEntry:
    """A segment, as the manifest names it."""

    file: str
    collection: str
    tokens: int
    struck: tuple[int, ...] = ()
    """Numbers of its documents that are forgotten; they leave the disk at compaction."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One state of the datastore."""

    segments: tuple[SegmentEntry, ...] = ()
    """Oldest first."""
    journal: str = f"00000000{JOURNAL_SUFFIX}"
    next_number: int = 1
    """Number of the next file."""

    @property
    def files(self) -> set[str]:
        """The files that belong to this state."""
        return {self.journal, *(entry.file for entry in self.segments)}


def save_manifest(folder: Path, manifest: Manifest) -> None:
    """Makes `manifest` the state of the datastore. Raises OSError; the old state holds then."""
    state = {
        "format": FORMAT,
        "journal": manifest.journal,
        "next": manifest.next_number,
        "segments": [[s.file, s.collection, s.tokens, list(s.struck)] for s in manifest.segments],
    }
    body = _compact(state)
    checked = {"checksum": zlib.crc32(body.encode()), "state": body}
    write_atomically(folder / NAME, _compact(checked).encode())


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def load_manifest(folder: Path) -> Manifest:
    """The state of the datastore; an empty one when there is none yet. Raises DamagedManifest and
    OSError."""
    try:
        content = (folder / NAME).read_bytes()
    except FileNotFoundError:
        return Manifest()
    try:
        checked = json.loads(content)
        body = checked["state"]
        if zlib.crc32(body.encode()) != checked["checksum"]:
            raise DamagedManifest("its checksum does not match")
        state = json.loads(body)
        if state["format"] != FORMAT:
            raise DamagedManifest(f"it has the unknown format {state['format']}")
        manifest = Manifest(
            tuple(
                SegmentEntry(file, collection, tokens, tuple(struck))
                for file, collection, tokens, struck in state["segments"]
            ),
            state["journal"],
            state["next"],
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedManifest("it cannot be read") from error
    if not all(map(_FILE.fullmatch, manifest.files)):
        raise DamagedManifest("it names strange files")
    return manifest


def is_own_file(name: str) -> bool:
    """Whether a file of this name is a segment or a journal, or was going to be one of the files
    of the datastore."""
    return bool(_FILE.fullmatch(name)) or (
        name.startswith(".") and (NAME in name or SEGMENT_SUFFIX in name or JOURNAL_SUFFIX in name)
    )
