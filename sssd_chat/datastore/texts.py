"""The texts of imported collections: the truth that their indexes are made from (SQLite)."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sssd_chat.errors import UserError, reason
from sssd_chat.files import make_private_folder

_BUSY_SECONDS = 60.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS texts (
    collection TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL, title TEXT NOT NULL,
    added REAL NOT NULL, text BLOB NOT NULL, PRIMARY KEY (collection, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS declined (collection TEXT PRIMARY KEY);
"""


_PART = "\x1f"
"""Stands between the name of a document and the number of its part; no file name has it."""


def part_name(name: str, part: int) -> str:
    """The name of a part of a document; the first one has the document's own."""
    return name if part == 1 else f"{name}{_PART}{part}"


def whole_name(part: str) -> str:
    """The name of the document that the name of a part belongs to."""
    return part.partition(_PART)[0]


@dataclass(frozen=True, slots=True)
class StoredText:
    """A document of an imported collection."""

    name: str
    """Where it came from, unique within its collection."""
    text: str
    digest: str
    """What its file hashed to when it was read."""
    title: str = ""
    added: float = 0.0
    """When it was imported, in seconds since 1970."""


class TextStore:
    """The database. For one thread at a time; other processes may use it too."""

    def __init__(self, path: Path) -> None:
        """Opens or makes the database, readable by its owner alone. Raises UserError when it
        cannot be used."""
        self._path = path
        try:
            make_private_folder(path.parent)
            path.touch(mode=0o600)
            self._connection = sqlite3.connect(
                path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA secure_delete = ON")
            with contextlib.suppress(sqlite3.OperationalError):
                # Not to be had on every file system.
                self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise UserError(
                f"The imported texts in {path} cannot be used: {reason(error, path)}."
            ) from error

    def close(self) -> None:
        """Closes the database."""
        self._connection.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """What is done inside is kept whole or not at all."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise

    # Reading

    def collections(self) -> list[str]:
        """The names of all collections, in order."""
        rows = self._connection.execute("SELECT DISTINCT collection FROM texts ORDER BY 1")
        return [row[0] for row in rows]

    def digests(self, collection: str) -> dict[str, str]:
        """The documents of a collection: name and digest."""
        rows = self._connection.execute(
            "SELECT name, digest FROM texts WHERE collection = ?", (collection,)
        )
        return dict(rows.fetchall())

    def titles(self, collection: str) -> dict[str, str]:
        """The documents of a collection with their parts: name and title, in order."""
        rows = self._connection.execute(
            "SELECT name, title FROM texts WHERE collection = ? ORDER BY name", (collection,)
        )
        return dict(rows.fetchall())

    def title(self, collection: str, name: str) -> str | None:
        """The title of a document; None when there is none of that name."""
        row = self._connection.execute(
            "SELECT title FROM texts WHERE collection = ? AND name = ?", (collection, name)
        ).fetchone()
        return None if row is None else row[0]

    def parts(self, collection: str, name: str) -> list[str]:
        """The names of a document and of its parts (see `part_name`) that a collection has."""
        rows = self._connection.execute(
            "SELECT name FROM texts WHERE collection = ? AND (name = ? OR "
            "substr(name, 1, length(?)) = ?) ORDER BY name",
            (collection, name, f"{name}{_PART}", f"{name}{_PART}"),
        )
        return [row[0] for row in rows]

    def read(self, collection: str, name: str) -> StoredText | None:
        """One document; None when there is none of that name."""
        row = self._connection.execute(
            "SELECT name, text, digest, title, added FROM texts WHERE collection = ? AND name = ?",
            (collection, name),
        ).fetchone()
        if row is None:
            return None
        return StoredText(row[0], row[1].decode("utf-8", "surrogatepass"), *row[2:])

    def texts(self, collection: str, names: Iterable[str]) -> Iterator[StoredText]:
        """The documents of these names, one at a time."""
        for name in names:
            text = self.read(collection, name)
            if text is not None:
                yield text

    # Writing

    def put(self, collection: str, texts: Iterable[StoredText]) -> None:
        """Adds documents, or replaces those of the same name."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO texts (collection, name, digest, title, added, text)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (
                (
                    collection,
                    text.name,
                    text.digest,
                    text.title,
                    text.added or time.time(),
                    text.text.encode("utf-8", "surrogatepass"),
                )
                for text in texts
            ),
        )

    def remove(self, collection: str, names: Iterable[str]) -> None:
        """Removes documents; `erase` takes them off the disk."""
        self._connection.executemany(
            "DELETE FROM texts WHERE collection = ? AND name = ?",
            ((collection, name) for name in names),
        )

    def remove_collection(self, collection: str) -> None:
        """Removes a collection; `erase` takes it off the disk."""
        self._connection.execute("DELETE FROM texts WHERE collection = ?", (collection,))

    def remove_everything(self) -> None:
        """Removes all collections; `erase` takes them off the disk."""
        self._connection.execute("DELETE FROM texts")

    def erase(self) -> None:
        """Rewrites the database so that nothing removed is left in it or beside it. Raises
        UserError when another program is in the way or the disk refuses."""
        try:
            self._connection.execute("VACUUM")
            busy = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        except sqlite3.Error as error:
            raise UserError(f"Removed text is still in {self._path}: {error}.") from error
        if busy:
            raise UserError(
                f"Removed text is still in {self._path}, since another program is reading it; try "
                "again when that has ended."
            )

    # Starter collections

    def declined(self) -> set[str]:
        """Starter collections that were forgotten and shall not come back by themselves."""
        return {row[0] for row in self._connection.execute("SELECT collection FROM declined")}

    def decline(self, collections: Iterable[str]) -> None:
        """Starter collections that shall not come back by themselves."""
        self._connection.executemany(
            "INSERT OR IGNORE INTO declined VALUES (?)", ((name,) for name in collections)
        )

    def welcome(self) -> None:
        """All starter collections may come back."""
        self._connection.execute("DELETE FROM declined")
