"""`.gitignore` files: which files and folders a person does not count as their own work."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sssd_chat.documents.document import DocumentError
from sssd_chat.documents.opening import open_regular

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_NAME = ".gitignore"
_MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that hold in a folder: its own and those of the folders around it."""

    folder: str
    """Where the innermost rules stand, with a slash at the end."""
    patterns: GitIgnoreSpec | None
    outer: Rules | None

    def ignore(self, path: str, *, is_folder: bool) -> bool:
        """Whether a path inside of the folder is ignored. The innermost rules that say anything
        about it decide, and of these the last."""
        rules: Rules | None = self
        while rules:
            if rules.patterns:
                relative = path[len(rules.folder) :] + ("/" if is_folder else "")
                said = rules.patterns.check_file(relative).include
                if said is not None:
                    return said
            rules = rules.outer
        return False


def rules_in(folder: Path, outer: Rules | None) -> Rules | None:
    """The rules in a folder that lies in the one of `outer`."""
    patterns = _patterns(folder / _NAME)
    if patterns is None:
        return outer
    return Rules(_with_slash(folder), patterns, outer)


def rules_around(folder: Path) -> Rules | None:
    """The rules that the folders around a folder have for it, up to the top of its repository;
    none if it is in no repository."""
    top = next((place for place in (folder, *folder.parents) if (place / ".git").exists()), None)
    if top is None or top == folder:
        return None
    around = [place for place in folder.parents if place == top or top in place.parents]
    rules: Rules | None = None
    for place in reversed(around):
        rules = rules_in(place, rules)
    return rules


def _with_slash(folder: Path) -> str:
    return str(folder).rstrip("/\\") + "/"


def _patterns(path: Path) -> GitIgnoreSpec | None:
    try:
        with open_regular(path) as file:
            content = file.read(_MOST_BYTES)
    except (DocumentError, OSError):
        return None
    from pathspec import GitIgnoreSpec

    lines = content.decode("utf-8", "surrogateescape").splitlines()
    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:
        # One pattern that makes no sense does not void the others.
        return GitIgnoreSpec.from_lines([line for line in lines if _makes_sense(line)])


def _makes_sense(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True
