"""A connection to the database: private, patient, and safe against a crash."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from sssd_chat.conversation.history.schema import SCHEMA_VERSION, bring_up_to_date, version_of
from sssd_chat.errors import UserError
from sssd_chat.files import make_private_folder

BUSY_SECONDS = 300.0
"""How long one program waits for another. Mostly it is milliseconds, but after a deletion the file
is written anew, which takes half a minute for a million turns."""


def open_database(path: Path) -> sqlite3.Connection:
    """Opens or makes the database, readable by its owner alone, with the tables of this version.

    Raises UserError when it is damaged or newer than this program, OSError or sqlite3.Error when
    the disk refuses."""
    make_private_folder(path.parent)
    path.touch(mode=0o600)
    connection = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        _prepare(connection, path)
    except sqlite3.DatabaseError as error:
        connection.close()
        if isinstance(error, sqlite3.OperationalError):
            raise
        raise UserError(
            f"{path} is not a readable database of chats; move it away to begin a new one."
        ) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    # What is deleted is overwritten, not only marked as free.
    connection.execute("PRAGMA secure_delete = ON")
    with contextlib.suppress(sqlite3.OperationalError):
        # Not to be had on every file system; the default journal serves as well, slower.
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    if version_of(connection) < SCHEMA_VERSION:
        with transaction(connection):
            bring_up_to_date(connection, path)
    if version_of(connection) > SCHEMA_VERSION:
        raise UserError(f"{path} was written by a newer version of sssd-chat; update this one.")


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """What is written inside is kept whole, or not at all."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """What is read inside is the database at one moment, whatever other programs write."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
