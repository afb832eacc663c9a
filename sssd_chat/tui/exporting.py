"""Where a chat goes when it is exported with a typed command. No widgets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from sssd_chat.errors import UserError, reason
from sssd_chat.tui.slash import typed_path

_SUFFIXES = {".json": "json", ".md": "md", ".markdown": "md", ".txt": "md"}
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Export:
    """A file to be written."""

    path: Path
    form: str
    """One of `exchange.exporting.FORMATS`."""
    may_replace: bool


def export_wanted(words: str, title: str) -> Export:
    """What was typed: a file, or a format alone, whose file is named after the chat; "!" behind it
    lets a file be replaced. Raises UserError with a sentence."""
    may_replace = words.rstrip().endswith("!")
    words = words.rstrip().removesuffix("!").rstrip()
    if words in ("", "md", "json"):
        form = words or "md"
        return Export(Path(f"{_file_name(title)}.{form}"), form, may_replace)
    try:
        path = Path(typed_path(words)).expanduser()
    except RuntimeError as error:
        # A "~user" whose home folder is not known.
        raise UserError(f"{words} cannot be followed: {error}".rstrip(".") + ".") from error
    form = _SUFFIXES.get(path.suffix.lower(), "")
    if not form:
        raise UserError(f"{path.name}: the name has to end with .md or .json.")
    return Export(path, form, may_replace)


def _file_name(title: str) -> str:
    """The title as a name that every file system takes."""
    words = re.sub(r"[^\w-]+", "-", title.lower()).strip("-")[:_LONGEST_NAME].strip("-")
    return words or "chat"


def write_export(export: Export, text: str) -> None:
    """Writes the file. Raises UserError when it cannot be written, or is there already and may not
    be replaced."""
    try:
        mode = "w" if export.may_replace else "x"
        with export.path.open(mode, encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError as error:
        raise UserError(
            f"{export.path} is there already; with ! behind the name it is replaced."
        ) from error
    except OSError as error:
        raise UserError(
            f"{export.path} cannot be written: {reason(error, export.path)}."
        ) from error
