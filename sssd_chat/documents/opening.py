"""Opens files that anything may have happened to: only regular ones, and never waiting."""

from __future__ import annotations

import hashlib
import os
import stat
from io import BufferedReader
from pathlib import Path

from sssd_chat.documents.document import DocumentError

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISLNK, "a symbolic link"),
)


def kind_of(mode: int) -> str | None:
    """What a file is that is not a regular one, such as "a named pipe"; None of a regular file.
    `mode` is `st_mode`."""
    if stat.S_ISREG(mode):
        return None
    return next((name for is_kind, name in _KINDS if is_kind(mode)), "no regular file")


def open_regular(path: Path) -> BufferedReader:
    """A regular file, open for reading. Anything else is not opened, because a pipe could wait
    for ever and a device could act. Raises DocumentError with the reason."""
    try:
        _check(path.stat().st_mode)
        handle = os.open(path, _FLAGS)
        try:
            # The name may have come to stand for something else in between.
            _check(os.fstat(handle).st_mode)
            return os.fdopen(handle, "rb")
        except BaseException:
            os.close(handle)
            raise
    except (OSError, ValueError) as error:
        raise DocumentError(about(error)) from None


def _check(mode: int) -> None:
    kind = kind_of(mode)
    if kind:
        raise DocumentError(f"is {kind}, not a file to read")


def about(error: OSError | ValueError) -> str:
    """Why a file cannot be opened or read, as the rest of a sentence."""
    if isinstance(error, FileNotFoundError):
        return "does not exist, or no longer"
    strerror = error.strerror if isinstance(error, OSError) else None
    return f"cannot be read: {(strerror or str(error)).lower()}"


def hash_file(path: Path) -> str:
    """The SHA-256 of a file's bytes in hexadecimal digits: the same for the same content under any
    name. Raises DocumentError if it cannot be read."""
    with open_regular(path) as file:
        return hash_of(file)


def hash_of(file: BufferedReader) -> str:
    """The SHA-256 of an open file from its start. Raises DocumentError if reading fails."""
    try:
        file.seek(0)
        return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DocumentError(about(error)) from None
