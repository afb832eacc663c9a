"""Taking forgotten texts out of what drafting has learned."""

from __future__ import annotations

import contextlib
from pathlib import Path

from sssd_chat.drafting import Experience
from sssd_chat.files import write_atomically

_STAMP = "forgotten"


def forget_learned_texts(folder: Path) -> None:
    """Takes all tokens out of the experience of all models. Programs that are running do the same
    before they save theirs. Raises OSError."""
    if not folder.is_dir():
        return
    # First the stamp: whoever saves after this leaves the tokens out.
    write_atomically(folder / _STAMP, b"")
    for path in folder.iterdir():
        if path.name == _STAMP or path.name.startswith("."):
            continue
        experience, problem = Experience.load(path)
        if problem:
            path.unlink(missing_ok=True)
            continue
        experience.forget_texts()
        with contextlib.suppress(FileNotFoundError):
            experience.save(path)


def forgotten_at(folder: Path) -> int:
    """Changes whenever `forget_learned_texts` was called; 0 before the first time."""
    try:
        return (folder / _STAMP).stat().st_mtime_ns
    except OSError:
        return 0
