"""The titles of chats, read beside whatever else is done with the database."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable
from pathlib import Path

_WAIT_SECONDS = 0.2


def chat_titles(path: Path, chats: Iterable[int]) -> dict[int, str]:
    """The titles of those of the chats that there are; none where the database cannot be read at
    once: a title is nothing to wait for."""
    wanted = set(chats)
    if not wanted or not path.exists():
        return {}
    try:
        with contextlib.closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_WAIT_SECONDS)
        ) as connection:
            find = "SELECT title FROM chats WHERE id = ?"
            found = {chat: connection.execute(find, (chat,)).fetchone() for chat in wanted}
    except sqlite3.Error:
        return {}
    return {chat: row[0] for chat, row in found.items() if row is not None}
