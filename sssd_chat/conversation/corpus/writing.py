"""Keeps the texts of files: those of one file all or none, those of many in one go."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable

from sssd_chat.datastore.texts import StoredText, TextStore

_MOST_CHARACTERS = 4 << 20
"""What is held in memory before it is written."""
_MOST_SECONDS = 1.0
"""What a crash may cost. Between two such moments another program can write."""


class TextWriter:
    """Writes into one collection. Errors of the database come out of every method."""

    def __init__(self, texts: TextStore, collection: str) -> None:
        self._texts = texts
        self._collection = collection
        self._whole: list[StoredText] = []
        """Texts of files that were read to their end."""
        self._stale: list[str] = []
        self._current: list[StoredText] = []
        """Texts of the file that is being read."""
        self._size = 0
        self._next = time.monotonic() + _MOST_SECONDS
        self._open: contextlib.AbstractContextManager[None] | None = None
        """The transaction of a file that is too large for the memory."""

    def add(self, text: StoredText) -> None:
        """Takes a text of a file that is being read."""
        self._current.append(text)
        self._size += len(text.text)
        if self._size <= _MOST_CHARACTERS:
            return
        if self._open is None:
            self.flush()
            transaction = self._texts.transaction()
            transaction.__enter__()
            self._open = transaction
        self._put_current()

    def finish(self, stale: Iterable[str]) -> None:
        """The file was read to its end; documents of the names `stale` are not there any more."""
        if self._open is not None:
            self._put_current()
            self._texts.remove(self._collection, stale)
            self._end(None)
            return
        self._whole += self._current
        self._stale += stale
        self._current = []
        if self._size > _MOST_CHARACTERS or time.monotonic() > self._next:
            self.flush()

    def drop(self) -> None:
        """The file gave no text after all: what came of it is not kept."""
        self._current = []
        self._end(_Dropped())

    def flush(self) -> None:
        """Writes the texts of all finished files; returns when they are on the disk."""
        if self._whole or self._stale:
            with self._texts.transaction():
                self._texts.remove(self._collection, self._stale)
                self._texts.put(self._collection, self._whole)
        self._whole, self._stale = [], []
        self._size = sum(len(text.text) for text in self._current)
        self._next = time.monotonic() + _MOST_SECONDS

    def _put_current(self) -> None:
        self._texts.put(self._collection, self._current)
        self._current = []
        self._size = 0

    def _end(self, error: _Dropped | None) -> None:
        """Ends the transaction of a large file, well or with nothing kept."""
        transaction, self._open = self._open, None
        if transaction is not None:
            transaction.__exit__(type(error) if error else None, error, None)


class _Dropped(Exception):
    """Why a transaction is rolled back."""
