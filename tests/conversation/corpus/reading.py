"""Reads files in this process: the same events as `read_files`, without the processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from sssd_chat.documents import (
    DocumentError,
    Event,
    FileFailed,
    FileRead,
    FileUnwanted,
    Limits,
    Piece,
    Source,
    hash_file,
    read_source,
)


def read_here(
    paths: Iterable[Path],
    limits: Limits | None = None,
    *,
    workers: int | None = None,
    wanted: Callable[[Path, str], bool] | None = None,
    cancelled: threading.Event | None = None,
) -> Iterator[Event]:
    for path in paths:
        if cancelled is not None and cancelled.is_set():
            return
        digest = None
        try:
            digest = hash_file(path)
            if wanted is not None and not wanted(path, digest):
                yield FileUnwanted(path, digest)
                continue
            count = 0
            with path.open("rb") as file:
                source = Source(path.name, file, limits or Limits())
                for document in read_source(source):
                    count += 1
                    yield Piece(path, document)
            yield FileRead(path, digest, path.stat().st_size, count, tuple(source.notes))
        except DocumentError as error:
            yield FileFailed(path, error.reason, digest)
