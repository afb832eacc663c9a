"""Finds the files to read in what a person names: files, and folders with all that is in them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from sssd_chat.documents.document import DocumentError, amount
from sssd_chat.documents.encoding import looks_binary
from sssd_chat.documents.formats import format_of
from sssd_chat.documents.ignoring import Rules, rules_around, rules_in
from sssd_chat.documents.opening import about, kind_of, open_regular

_HEAD = 8192


@dataclass(frozen=True, slots=True)
class WalkSettings:
    """What is taken in folders."""

    most_bytes: int = 64 << 20
    """A larger file is skipped, even one that is named directly."""
    hidden: bool = False
    """Whether names that start with a dot are taken."""
    ignored: bool = False
    """Whether what `.gitignore` excludes is taken."""
    links: bool = False
    """Whether symbolic links in folders are followed. What they lead to inside of the folder is
    found anyway, and what is outside was not asked for."""


class Reason(StrEnum):
    """Why a file or a folder is skipped; the value is for people."""

    HIDDEN = "hidden"
    IGNORED = "ignored by .gitignore"
    BINARY = "binary"
    HUGE = "too large"
    EMPTY = "empty"
    LINK = "behind a symbolic link"
    LOOP = "taken already"
    SPECIAL = "not a regular file"
    MISSING = "not there"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Found:
    """A file to read."""

    path: Path
    size: int
    """Bytes."""
    root: Path
    """What was named that it lies in; itself if it was named."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or a whole folder that is not read."""

    path: Path
    reason: Reason
    detail: str = ""
    """More about it, as a clause; may be empty."""
    named: bool = False
    """Whether it was named directly, so that somebody waits for it."""


def walk(paths: Sequence[Path], settings: WalkSettings | None = None) -> Iterator[Found | Skipped]:
    """The files to read in `paths`, each once, in the order of their names.

    What is named directly is taken even if it is hidden, ignored or a symbolic link. A folder that
    is skipped counts once, whatever is in it. Only regular files are ever opened, and only those
    whose extension does not say that they are binary. Raises nothing: a file that cannot be looked
    at, or that vanishes meanwhile, is skipped with its reason.
    """
    walker = _Walker(settings or WalkSettings())
    for path in paths:
        # Absolute but not resolved: people see the names that they gave.
        yield from walker.named(Path(os.path.abspath(path)))  # noqa: PTH100


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder whose entries are being walked."""

    entries: Iterator[os.DirEntry[str]]
    rules: Rules | None


class _Walker:
    def __init__(self, settings: WalkSettings) -> None:
        self._settings = settings
        self._folders: set[tuple[int, int]] = set()
        self._files: set[str] = set()

    def named(self, path: Path) -> Iterator[Found | Skipped]:
        """A path that a person named, and all that is in it."""
        try:
            status = path.stat()
        except (OSError, ValueError) as error:
            missing = isinstance(error, FileNotFoundError)
            reason = Reason.MISSING if missing else Reason.UNREADABLE
            yield Skipped(path, reason, about(error), named=True)
            return
        if stat.S_ISDIR(status.st_mode):
            yield from self._tree(path, status)
        elif str(path) not in self._files:
            yield self._file(path, status, path)

    def _tree(self, root: Path, status: os.stat_result) -> Iterator[Found | Skipped]:
        rules = None if self._settings.ignored else rules_around(root)
        if rules and rules.ignore(str(root), is_folder=True):
            rules = None  # or nothing in it would be taken
        opened = self._open(root, status, rules)
        # A stack, because a tree of folders may be deeper than Python can recur.
        stack: list[_Folder] = []
        if isinstance(opened, _Folder):
            stack.append(opened)
        elif opened.reason is not Reason.LOOP:
            yield opened
        while stack:
            entry = next(stack[-1].entries, None)
            if entry is None:
                stack.pop()
                continue
            found = self._entry(entry, stack[-1].rules, root)
            if isinstance(found, _Folder):
                stack.append(found)
            elif found:
                yield found

    def _entry(
        self, entry: os.DirEntry[str], rules: Rules | None, root: Path
    ) -> Found | Skipped | _Folder | None:
        path = Path(entry.path)
        try:
            if entry.name.startswith(".") and not self._settings.hidden:
                return Skipped(path, Reason.HIDDEN)
            if entry.is_symlink() and not self._settings.links:
                return Skipped(path, Reason.LINK)
            is_folder = entry.is_dir()
            if rules and rules.ignore(entry.path, is_folder=is_folder):
                return Skipped(path, Reason.IGNORED)
            status = path.stat()
        except OSError as error:
            missing = isinstance(error, FileNotFoundError)
            return Skipped(path, Reason.MISSING if missing else Reason.UNREADABLE, about(error))
        if stat.S_ISDIR(status.st_mode):
            return self._open(path, status, rules)
        return None if entry.path in self._files else self._file(path, status, root)

    def _open(self, path: Path, status: os.stat_result, rules: Rules | None) -> _Folder | Skipped:
        identity = (status.st_dev, status.st_ino)
        if identity in self._folders:
            return Skipped(path, Reason.LOOP)
        self._folders.add(identity)
        try:
            with os.scandir(path) as entries:
                ordered = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            return Skipped(path, Reason.UNREADABLE, about(error))
        return _Folder(iter(ordered), None if self._settings.ignored else rules_in(path, rules))

    def _file(self, path: Path, status: os.stat_result, root: Path) -> Found | Skipped:
        named = path == root
        kind = kind_of(status.st_mode)
        if kind:
            return Skipped(path, Reason.SPECIAL, f"is {kind}", named)
        if not status.st_size:
            return Skipped(path, Reason.EMPTY, "", named)
        if status.st_size > self._settings.most_bytes:
            sizes = f"{amount(status.st_size)}, more than {amount(self._settings.most_bytes)}"
            return Skipped(path, Reason.HUGE, sizes, named)
        try:
            if format_of(path.name).is_text and looks_binary(_head(path)):
                return Skipped(path, Reason.BINARY, "", named)
        except DocumentError as error:
            return Skipped(path, Reason.UNREADABLE, error.reason, named)
        self._files.add(str(path))
        return Found(path, status.st_size, root)


def _head(path: Path) -> bytes:
    """The start of a file. Raises DocumentError."""
    try:
        with open_regular(path) as file:
            return file.read(_HEAD)
    except OSError as error:
        raise DocumentError(about(error)) from None
