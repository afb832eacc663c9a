"""The file of answers: one line an input line, kept whatever happens to the program."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from sssd_chat.conversation.batch.lines import LineId
from sssd_chat.errors import UserError, reason
from sssd_chat.files import sync_folder, write_all

_SYNC_SECONDS = 2.0
_BEGINNING = b'{"input": {"line": '
"""Of each line, so that a torn one can be told from a file that is something else."""


class AnswerFile:
    """Answers on the disk. One process at a time has it open.

    A line is written whole by one call, so a program that is killed leaves at most its last line
    torn; that one is cut off when the file is opened again.
    """

    def __init__(self, path: Path, line_of: Callable[[LineId], bool]) -> None:
        """Opens or makes the file. `line_of` says whether the input has a line of that number and
        content. Raises UserError when the file cannot be written, is in use, or holds anything but
        answers to this input."""
        self.path = path
        self.done: set[LineId] = set()
        """The lines that are answered."""
        self.failed = 0
        """How many of them have an error for an answer."""
        self._next_sync = 0.0
        try:
            self._handle = _open_locked(path)
        except OSError as error:
            raise UserError(f"{path} cannot be written: {reason(error, path)}.") from error
        try:
            self._read(line_of)
        except BaseException:
            os.close(self._handle)
            raise

    def _read(self, line_of: Callable[[LineId], bool]) -> None:
        for start, line in _lines_of(self._handle):
            answered = _answered(line)
            if answered is None and _is_torn(line):
                os.ftruncate(self._handle, start)
                return
            if answered is None or not line_of(answered):
                raise UserError(
                    f"{self.path} holds something else than answers to this input: give another "
                    "file with -o, or remove it."
                )
            self.done.add(answered)
            self.failed += _has_failed(json.loads(line))
            if not line.endswith(b"\n"):
                self._append(b"\n")

    def add(self, line: LineId, answer: dict[str, object]) -> None:
        """Writes the answer to a line. Raises UserError when the disk refuses."""
        whole = {"input": {"line": line.number, "digest": line.digest}, **answer}
        encoded = json.dumps(whole, ensure_ascii=False).encode("utf-8", "replace")
        try:
            self._append(encoded + b"\n")
            if time.monotonic() >= self._next_sync:
                self.sync()
        except OSError as error:
            raise UserError(f"{self.path} cannot be written: {reason(error)}.") from error
        self.done.add(line)
        self.failed += _has_failed(answer)

    def latest(self, most_bytes: int) -> list[bytes]:
        """The last whole lines of the file, of so many bytes together at most. Raises OSError."""
        size = os.fstat(self._handle).st_size
        start = max(0, size - most_bytes)
        # The byte before tells whether a line begins there.
        content = os.pread(self._handle, size - start + 1, max(0, start - 1))
        lines = content.splitlines(keepends=True)
        return lines[1:] if start else lines

    def _append(self, content: bytes) -> None:
        os.lseek(self._handle, 0, os.SEEK_END)
        write_all(self._handle, content)

    def sync(self) -> None:
        """Makes durable what was written. Raises OSError."""
        with _not_for_pipes():
            os.fsync(self._handle)
        self._next_sync = time.monotonic() + _SYNC_SECONDS

    def put_in_order(self) -> None:
        """Puts the answers into the order of the input. Raises UserError when the disk refuses;
        then the file is as it was."""
        places = sorted(
            (line_id.number, start, len(line))
            for start, line in _lines_of(self._handle)
            if (line_id := _answered(line)) is not None
        )
        if [start for _, start, _ in places] == sorted(start for _, start, _ in places):
            return
        ordered = self.path.with_name(f".{self.path.name}.ordered")
        try:
            # Locked before it takes the place of the other one, so the name is never unlocked.
            handle = _open_locked(ordered)
            os.ftruncate(handle, 0)
            os.fchmod(handle, stat.S_IMODE(os.fstat(self._handle).st_mode))
            for _, start, length in places:
                write_all(handle, os.pread(self._handle, length, start))
            os.fsync(handle)
            ordered.replace(self.path)
            sync_folder(self.path.parent)
        except OSError as error:
            raise UserError(f"{self.path} cannot be put in order: {reason(error)}.") from error
        os.close(self._handle)
        self._handle = handle

    def close(self) -> None:
        """Makes durable what was written and lets others have the file."""
        try:
            with contextlib.suppress(OSError):
                self.sync()
        finally:
            os.close(self._handle)


def _open_locked(path: Path) -> int:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            os.close(handle)
            raise UserError(f"Another batch is writing {path}.") from error
        # A file system without locks; then nobody is kept out.
    return handle


@contextlib.contextmanager
def _not_for_pipes() -> Iterator[None]:
    """Not everything that can be written to can be made durable."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise


def _lines_of(handle: int) -> Iterator[tuple[int, bytes]]:
    """The lines of a file and where they start."""
    start = 0
    with os.fdopen(os.dup(handle), "rb") as file:
        file.seek(0)
        for line in file:
            yield start, line
            start += len(line)


def _answered(line: bytes) -> LineId | None:
    """The input line that a line of the file answers; None when it is none of ours."""
    try:
        answered = json.loads(line)["input"]
        number, digest = answered["line"], answered["digest"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    is_one = isinstance(number, int) and isinstance(digest, str)
    return LineId(number, digest) if is_one else None


def _has_failed(answer: dict[str, object]) -> bool:
    response = answer.get("response")
    status = response.get("status_code", 200) if isinstance(response, dict) else 200
    return status != 200 or answer.get("error") is not None


def _is_torn(line: bytes) -> bool:
    """Whether it may be the beginning of a line of ours, the end of which was never written."""
    length = len(_BEGINNING)
    return not line.endswith(b"\n") and line[:length] == _BEGINNING[: len(line)]
