"""Writing files so that a crash leaves the old content or the new, and nobody else can read it."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

Chunk = bytes | memoryview
"""A piece of a file's content; a memory view of bytes."""


def write_atomically(path: Path, content: bytes | Iterable[Chunk]) -> None:
    """Replaces the content of `path` (mode 0600, folders 0700): write, fsync, rename, fsync of
    the folder. The content may come in pieces. Raises OSError and leaves the old file as it
    was."""
    make_private_folder(path.parent)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        try:
            for chunk in (content,) if isinstance(content, bytes) else content:
                write_all(handle, chunk)
            os.fsync(handle)
        finally:
            os.close(handle)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


def write_all(handle: int, chunk: Chunk) -> None:
    """Writes all of `chunk` to an open file. Raises OSError, part of it may be written then."""
    rest = memoryview(chunk)
    while rest:
        rest = rest[os.write(handle, rest) :]


def make_private_folder(folder: Path) -> None:
    """Makes a folder, and the parents it lacks, that only its owner can enter. Raises OSError."""
    # Path.mkdir(parents=True) gives its mode to the last folder alone.
    for parent in (*reversed(folder.parents), folder):
        parent.mkdir(mode=0o700, exist_ok=True)


def sync_folder(folder: Path) -> None:
    """Makes a rename in the folder durable, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
