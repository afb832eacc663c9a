"""Fetching one file so that an interruption costs nothing and nothing half-written is left."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from sssd_chat.errors import UserError
from sssd_chat.files import make_private_folder, sync_folder
from sssd_chat.models.hub import Body, HubError
from sssd_chat.models.quantizations import RemoteFile
from sssd_chat.models.scanning import UNFINISHED

Progress = Callable[[int, int], None]
"""Told bytes that are there, and bytes in all."""

_TRIES = 5
"""Failures in a row without a new byte."""
_READ = 1 << 20
_APPENDING = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)


class Opener(Protocol):
    """Opens the file that is fetched."""

    def __call__(self, file: RemoteFile, start: int) -> AbstractContextManager[Body]:
        """Its bytes from `start` on. Raises HubError."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How failures are waited out."""

    sleep: Callable[[float], None] = lambda seconds: time.sleep(seconds)
    tell: Callable[[str], None] = lambda _: None
    """Told about each failure that is waited out, in a sentence."""

    def wait(self, error: HubError, failures: int) -> None:
        """Waits before the next try, longer after each failure; raises the error when it is no use
        trying again."""
        if error.wait is None or failures >= _TRIES:
            raise error
        seconds = min(error.wait * 2 ** (failures - 1), 60.0)
        self.tell(f"{error} Trying again in {seconds:.0f} s.")
        self.sleep(seconds)


def unfinished_name(file: RemoteFile, target: Path) -> Path:
    """Where the bytes gather until they are all there; another version of the file has another
    name."""
    version = (file.sha256 or f"{file.size}")[:12]
    return target.with_name(f"{target.name}.{version}{UNFINISHED}")


def is_fetched(file: RemoteFile, target: Path) -> bool:
    """Whether the very file is at `target`. Reads all of it, when the size is right."""
    try:
        return _size(target) == file.size and _is_right(file, target)
    except OSError:
        return False


def bytes_left(file: RemoteFile, target: Path) -> int:
    """Bytes of a file that is not at `target` that have to be fetched still."""
    return max(0, file.size - (_size(unfinished_name(file, target)) or 0))


def fetch(
    file: RemoteFile, target: Path, opener: Opener, progress: Progress, patience: Patience
) -> None:
    """Fetches a file to `target`, going on where an earlier attempt ended; another file of that
    name is replaced.

    The checksum is verified before the file gets its name. Raises UserError with a sentence; what
    was fetched is kept for the next attempt, unless it is known to be wrong.
    """
    part = unfinished_name(file, target)
    try:
        make_private_folder(target.parent)
        with os.fdopen(os.open(part, _APPENDING, 0o600), "ab") as output:
            _gather(file, output, opener, progress, patience)
            output.flush()
            os.fsync(output.fileno())
        if not _is_right(file, part):
            part.unlink()
            raise UserError(
                f"{target.name} arrived damaged (its checksum is not that of {file.name}) and was "
                "thrown away; try again."
            )
        part.replace(target)
        _remove_others(target)
        sync_folder(target.parent)
    except OSError as error:
        raise UserError(f"{target} cannot be written: {error.strerror or error}.") from error


def _gather(
    file: RemoteFile, output: BinaryIO, opener: Opener, progress: Progress, patience: Patience
) -> None:
    """Appends to `output` until all is there."""
    failures = 0
    while (have := output.seek(0, os.SEEK_END)) != file.size:
        if have > file.size:
            have = _cut(output, 0)
        progress(have, file.size)
        try:
            with opener(file, have) as body:
                _append(file, output, body, have, progress)
            if output.tell() < file.size:
                raise HubError(f"The connection was closed within {file.name}.", 1.0)
        except HubError as error:
            failures = 1 if output.tell() > have else failures + 1
            patience.wait(error, failures)


def _append(file: RemoteFile, output: BinaryIO, body: Body, have: int, progress: Progress) -> None:
    if body.start != have:
        # The server gives the file from its beginning, or refuses to go on from here.
        have = _cut(output, min(body.start, have))
        if body.start != have:
            raise HubError(f"The server gave another part of {file.name} than asked for.", 1.0)
    if body.length is not None and have + body.length != file.size and body.length:
        _cut(output, 0)
        raise HubError(
            f"The server offers {have + body.length:,} bytes of {file.name} where the repository "
            f"says {file.size:,}: it has another version, or is broken; try again later."
        )
    for chunk in body.chunks:
        if have + len(chunk) > file.size:
            _cut(output, 0)
            raise HubError(
                f"The server sent more than the {file.size:,} bytes of {file.name}; try again "
                "later."
            )
        output.write(chunk)
        have += len(chunk)
        progress(have, file.size)


def _cut(output: BinaryIO, size: int) -> int:
    output.truncate(size)
    return output.seek(0, os.SEEK_END)


def _is_right(file: RemoteFile, part: Path) -> bool:
    if file.sha256 is None:
        return True
    digest = hashlib.sha256()
    with part.open("rb") as data:
        while chunk := data.read(_READ):
            digest.update(chunk)
    return digest.hexdigest() == file.sha256.lower()


def _remove_others(target: Path) -> None:
    """Removes what is left of attempts at other versions."""
    for other in target.parent.iterdir():
        if other.name.startswith(f"{target.name}.") and other.name.endswith(UNFINISHED):
            other.unlink(missing_ok=True)


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
