"""Model files below a folder, with those that belong together put together. Nothing is opened."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SUFFIX = ".gguf"
UNFINISHED = ".part"
"""What `pull` adds to the name of a file that is not whole yet."""

_UNFINISHED_SUFFIXES = (
    UNFINISHED,
    ".incomplete",
    ".partial",
    ".download",
    ".downloadInProgress",
    ".crdownload",
    ".tmp",
)
_UNFINISHED_PREFIXES = ("incomplete-", "downloading_")
_PART = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.IGNORECASE)
_NAMELESS = ("model", "ggml-model", "gguf")
"""Names of files whose folder says which model it is."""

# Limits for a folder of the settings that turns out to be a whole disk.
_DEEPEST = 6
_MOST_ENTRIES = 50_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may be a model: one file, or the parts of a split one."""

    name: str
    files: tuple[Path, ...]
    """The first one is to be opened."""
    repository: str | None = None
    """OWNER/NAME, where the folders tell."""
    problem: str | None = None
    """What is wrong, as far as the names of the files tell."""

    @property
    def path(self) -> Path:
        """The file to open."""
        return self.files[0]


def scan(folder: Path) -> list[Candidate]:
    """The candidates in a folder and the folders in it, hidden ones left out. Folders that cannot
    be read are passed over."""
    found: list[Candidate] = []
    for files in _folders_below(folder):
        found += grouped(files, folder)
    return found


def grouped(files: list[Path], root: Path) -> list[Candidate]:
    """The candidates among the files of one folder, which lies below `root`."""
    splits: dict[tuple[str, int], dict[int, Path]] = {}
    found = []
    for file in sorted(files):
        part = _PART.fullmatch(file.name)
        if part is not None:
            key = (part["stem"], int(part["count"]))
            splits.setdefault(key, {})[int(part["number"])] = file
        elif is_unfinished(file.name):
            found.append(Candidate(file.name, (file,), _repository(file, root), _NOT_FINISHED))
        else:
            found.append(Candidate(_name(file, root), (file,), _repository(file, root)))
    return found + [_split(stem, count, parts, root) for (stem, count), parts in splits.items()]


def is_unfinished(name: str) -> bool:
    """Whether a file's name says that a program is not done with downloading it."""
    return name.endswith(_UNFINISHED_SUFFIXES) or name.startswith(_UNFINISHED_PREFIXES)


_NOT_FINISHED = "the download is not finished"


def _split(stem: str, count: int, parts: dict[int, Path], root: Path) -> Candidate:
    files = tuple(parts[number] for number in sorted(parts))
    missing = [number for number in range(1, min(count, 1000) + 1) if number not in parts]
    problem = None
    if missing:
        shown = ", ".join(map(str, missing[:3])) + (", …" if len(missing) > 3 else "")
        word = "part" if len(missing) == 1 else "parts"
        problem = f"{word} {shown} of {count} cannot be found"
    return Candidate(stem, files, _repository(files[0], root), problem)


def _name(file: Path, root: Path) -> str:
    stem = file.name[: -len(SUFFIX)] if file.name.lower().endswith(SUFFIX) else file.name
    is_nameless = stem.lower() in _NAMELESS and file.parent != root
    return file.parent.name if is_nameless else stem


def _repository(file: Path, root: Path) -> str | None:
    folders = file.parent.relative_to(root).parts if file.is_relative_to(root) else ()
    return "/".join(folders[:2]) if len(folders) >= 2 else None


def _folders_below(root: Path) -> Iterator[list[Path]]:
    """The model files of each folder from `root` downwards."""
    left = _MOST_ENTRIES
    seen: set[tuple[int, int]] = set()
    waiting = [(str(root), 0)]
    while waiting and left > 0:
        folder, depth = waiting.pop()
        files: list[Path] = []
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                left -= 1
                if _may_be_model(entry.name):
                    if not _is_folder(entry):
                        files.append(Path(entry.path))
                elif depth < _DEEPEST and entry.name[:1] != "." and _is_folder(entry):
                    # Two links to one folder, or a link to a folder above.
                    if entry.is_symlink() and not _is_new(entry.path, seen):
                        continue
                    waiting.append((entry.path, depth + 1))
                if left <= 0:
                    break
        if files:
            yield files


def _may_be_model(name: str) -> bool:
    lower = name.lower()
    return lower.endswith(SUFFIX) or (f"{SUFFIX}." in lower and is_unfinished(name))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_new(path: str, seen: set[tuple[int, int]]) -> bool:
    try:
        status = Path(path).stat()
    except OSError:
        return False
    place = (status.st_dev, status.st_ino)
    if place in seen:
        return False
    seen.add(place)
    return True
