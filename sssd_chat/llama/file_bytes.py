"""The bytes of a file, read a block at a time.

A disk that goes away, or a program that cuts the file short meanwhile, is an ordinary error here;
with mapped memory the system would end the process.
"""

from __future__ import annotations

from io import FileIO

_BLOCK = 1 << 18


class FileBytes:
    """An open file, for reading here and there. For one thread."""

    __slots__ = ("_at_once", "_block", "_file", "_size", "_start")

    def __init__(self, file: FileIO, size: int, at_once: int = _BLOCK) -> None:
        """`file` is open and not buffered; `size` is that of its content in bytes, `at_once` the
        bytes of a block."""
        self._at_once = at_once
        self._file = file
        self._size = size
        self._block = b""
        self._start = 0
        """Where the block begins in the file."""

    def __len__(self) -> int:
        """Bytes of the file."""
        return self._size

    def between(self, start: int, end: int) -> bytes:
        """The bytes from `start` up to `end`, neither past the end of the file. Raises OSError, and
        EOFError when the file has become shorter."""
        first = start - self._start
        if first < 0 or end > self._start + len(self._block):
            self._block = self._read(
                start, max(end - start, min(self._at_once, self._size - start))
            )
            self._start, first = start, 0
        return self._block[first : first + end - start]

    def _read(self, start: int, count: int) -> bytes:
        self._file.seek(start)
        pieces: list[bytes] = []
        while count > 0:
            piece = self._file.read(count)
            if not piece:
                raise EOFError
            pieces.append(piece)
            count -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)
