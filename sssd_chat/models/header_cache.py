"""What was read from headers, kept on the disk: reading a large vocabulary takes 15 ms a file, and
hundreds of files are to be listed in the blink of an eye."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sssd_chat.files import write_atomically
from sssd_chat.llama.gguf import ModelFileError, read_beginning, read_header
from sssd_chat.models.description import ModelDescription, describe

_VERSION = 4

Stamp = tuple[tuple[str, int, int], ...]
"""Name, size in bytes and time of change (ns) of each file of a model."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a header said: a description, or what is wrong with the file."""

    description: ModelDescription | None
    problem: str | None
    """A sentence that names the file without its folder."""

    @property
    def is_whole(self) -> bool:
        """Whether there is nothing more to read."""
        return self.description is None or self.description.is_whole


class HeaderCache:
    """Readings by path; one counts while the size and the time of the files are the same.

    A file that is missing, damaged or cannot be written costs time and nothing else.
    """

    def __init__(self, file: Path | None) -> None:
        """Kept in `file`; None keeps nothing."""
        self._file = file
        self._known = _load(file) if file is not None else {}
        self._used: dict[str, dict[str, Any]] = {}
        self._is_new = False
        self.reads = 0
        """Headers that were read, rather than known."""

    def read(self, path: Path, stamp: Stamp, whole: bool = True) -> Reading:
        """What the header of the model says whose first file is `path`; unless it has to be
        `whole`, a new file is read up to its vocabulary alone."""
        key = str(path)
        files = [list(one) for one in stamp]
        known = self._known.get(key)
        if known is not None and known.get("files") == files:
            with contextlib.suppress(KeyError, TypeError, ValueError):
                reading = _as_reading(known)
                if reading.is_whole or not whole:
                    self._used[key] = dict(known)
                    return reading
        reading = _read(path, whole)
        self.reads += 1
        description = reading.description
        self._used[key] = {
            "files": files,
            "problem": reading.problem,
            "description": None if description is None else description.as_json(),
        }
        self._is_new = True
        return reading

    def save(self) -> None:
        """Keeps the readings that were asked for, if there is anything new among them; those of
        files that are gone are dropped."""
        if self._file is None or (not self._is_new and len(self._used) == len(self._known)):
            return
        content = {"version": _VERSION, "models": self._used}
        with contextlib.suppress(OSError, UnicodeEncodeError):
            write_atomically(self._file, json.dumps(content).encode())


def _read(path: Path, whole: bool) -> Reading:
    try:
        return Reading(describe(read_header(path) if whole else read_beginning(path)), None)
    except ModelFileError as error:
        return Reading(None, str(error).replace(str(path.parent / "_")[:-1], ""))


def _as_reading(known: Mapping[str, Any]) -> Reading:
    description, problem = known["description"], known["problem"]
    if description is None:
        return Reading(None, str(problem))
    return Reading(ModelDescription.from_json(description), None)


def _load(file: Path) -> dict[str, dict[str, Any]]:
    try:
        content = json.loads(file.read_bytes())
        models: dict[str, dict[str, Any]] = content["models"]
        is_sound = content["version"] == _VERSION and all(
            isinstance(one, dict) for one in models.values()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    return models if is_sound else {}


def stamp_of(files: Sequence[Path]) -> Stamp:
    """The stamp of a model's files, those left out that cannot be looked at."""
    stamp = []
    for file in files:
        with contextlib.suppress(OSError):
            status = file.stat()
            stamp.append((file.name, status.st_size, status.st_mtime_ns))
    return tuple(stamp)
