"""Taking deleted text off the disk, not only out of the tables."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from sssd_chat.conversation.history.opening import BUSY_SECONDS, transaction
from sssd_chat.conversation.history.schema import backups_of
from sssd_chat.conversation.history.search_index import SearchIndex
from sssd_chat.errors import UserError

_READER_SECONDS = 10.0
"""Reading takes milliseconds; who reads for longer has been forgotten about."""


def note_deletion(connection: sqlite3.Connection) -> None:
    """Leaves word, in the transaction that deletes, that `erase` has to follow."""
    connection.execute("INSERT OR REPLACE INTO facts VALUES ('erase', 'due')")


def is_erasing_due(connection: sqlite3.Connection) -> bool:
    """Whether something was deleted that may still be on the disk."""
    return connection.execute("SELECT 1 FROM facts WHERE name = 'erase'").fetchone() is not None


def erase(connection: sqlite3.Connection, index: SearchIndex, path: Path) -> None:
    """Rewrites the database so that neither it nor a file beside it holds deleted text. Waits for
    other programs that use it.

    Raises UserError when another program keeps on reading or the disk refuses; then the text is
    erased with the next deletion or the next end of a chat."""
    try:
        for backup in backups_of(path):
            backup.unlink(missing_ok=True)
        with transaction(connection):
            index.compact()
        connection.execute("VACUUM")
        is_finished = _empty_log(connection)
    except (OSError, sqlite3.Error) as error:
        raise UserError(
            f"The chat is deleted, but its text could not be erased from {path} yet: {error}; "
            "the end of the next chat tries again."
        ) from error
    if not is_finished:
        raise UserError(
            f"The chat is deleted, but another program is reading {path}, so its text could not be "
            "erased from the disk yet; the end of the next chat tries again."
        )
    connection.execute("DELETE FROM facts WHERE name = 'erase'")


def _empty_log(connection: sqlite3.Connection) -> bool:
    """Moves the write-ahead log into the database and cuts it to nothing; False when a reader is in
    the way. There is nothing to do for a database without one."""
    connection.execute(f"PRAGMA busy_timeout = {int(1000 * _READER_SECONDS)}")
    try:
        busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(1000 * BUSY_SECONDS)}")
    return not busy
