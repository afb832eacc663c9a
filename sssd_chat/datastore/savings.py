"""What each collection has saved so far."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path

from filelock import FileLock

from sssd_chat.files import make_private_folder, write_atomically


@dataclass(frozen=True, slots=True)
class Saving:
    """Accepted tokens, and the time that they spared."""

    tokens: int = 0
    seconds: float = 0.0


def read_savings(path: Path) -> dict[str, Saving]:
    """The sums by collection; empty when nothing was saved yet, or the file is damaged."""
    try:
        content = json.loads(path.read_bytes())
        return {
            str(name): Saving(int(tokens), float(seconds))
            for name, (tokens, seconds) in content.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def add_savings(path: Path, more: Mapping[str, Saving]) -> None:
    """Adds to the sums. Several processes may. Raises OSError."""
    if not more:
        return
    make_private_folder(path.parent)
    with FileLock(path.with_suffix(".lock"), mode=0o600):
        sums = read_savings(path)
        for name, saving in more.items():
            old = sums.get(name, Saving())
            sums[name] = Saving(old.tokens + saving.tokens, old.seconds + saving.seconds)
        _write(path, sums)


def forget_savings(path: Path, collections: Iterable[str] | None = None) -> None:
    """Takes collections out, or all of them. Raises OSError."""
    if path.exists():
        with FileLock(path.with_suffix(".lock"), mode=0o600):
            gone = None if collections is None else set(collections)
            sums = read_savings(path)
            _write(path, {n: s for n, s in sums.items() if gone is not None and n not in gone})


def _write(path: Path, sums: Mapping[str, Saving]) -> None:
    content = {name: astuple(saving) for name, saving in sums.items()}
    write_atomically(path, json.dumps(content).encode())
