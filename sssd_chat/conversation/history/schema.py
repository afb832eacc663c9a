"""The tables, and how a database of an earlier version becomes one of this version."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from sssd_chat.conversation.history.figures import put_figures

SCHEMA_VERSION = 3

# AUTOINCREMENT: what keeps the number of a deleted chat or turn must never meet another under it.
_TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE chats (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    title TEXT NOT NULL,
    system TEXT NOT NULL,
    leaf INTEGER,
    origin TEXT,
    parameters TEXT NOT NULL DEFAULT '',
    prompt TEXT NOT NULL DEFAULT ''
);
CREATE INDEX chats_by_use ON chats(updated);
CREATE UNIQUE INDEX chats_by_origin ON chats(origin) WHERE origin IS NOT NULL;
CREATE TABLE turns (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    chat INTEGER NOT NULL REFERENCES chats(id) ON DELETE CASCADE,
    parent INTEGER REFERENCES turns(id),
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    status TEXT NOT NULL CHECK (status IN ('done', 'streaming', 'stopped', 'failed')),
    model TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    parameters TEXT NOT NULL,
    statistics TEXT NOT NULL,
    text TEXT NOT NULL,
    tokens BLOB
);
CREATE INDEX turns_of_chat ON turns(chat);
CREATE INDEX turns_of_parent ON turns(parent);
CREATE INDEX finished_answers ON turns(chat)
    WHERE role = 'assistant' AND status IN ('done', 'stopped');
CREATE INDEX streaming_answers ON turns(updated) WHERE status = 'streaming';
{beside}
"""

# Beside the turns, so that looking at all of them does not read all texts.
_BESIDE_TURNS = """CREATE TABLE figures (
    turn INTEGER PRIMARY KEY REFERENCES turns(id) ON DELETE CASCADE,
    week INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    seconds REAL NOT NULL,
    plain_seconds REAL NOT NULL
);
CREATE TABLE spans (
    turn INTEGER PRIMARY KEY REFERENCES turns(id) ON DELETE CASCADE,
    spans TEXT NOT NULL
)"""

_FROM_VERSION_1 = """
CREATE TEMP TABLE old_chats AS SELECT * FROM main.chats;
CREATE TEMP TABLE old_turns AS SELECT * FROM main.turns;
DROP TABLE main.turns;
DROP TABLE main.chats;
{tables};
INSERT INTO chats (id, created, updated, title, system)
    SELECT id, created,
        coalesce((SELECT max(updated) FROM old_turns WHERE chat = old_chats.id), created),
        title, system
    FROM old_chats ORDER BY id;
INSERT INTO turns (id, chat, parent, role, status, model, fingerprint, created, updated,
        parameters, statistics, text, tokens)
    SELECT id, chat, parent, role, status, model, '', created, updated, '', '', text, tokens
    FROM old_turns ORDER BY id;
DROP TABLE temp.old_turns;
DROP TABLE temp.old_chats
"""

_FROM_VERSION_2 = f"""
ALTER TABLE chats ADD COLUMN parameters TEXT NOT NULL DEFAULT '';
ALTER TABLE chats ADD COLUMN prompt TEXT NOT NULL DEFAULT '';
{_BESIDE_TURNS}
"""


def version_of(connection: sqlite3.Connection) -> int:
    """The version of the schema; 0 for a new database."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    """Makes the tables, or changes those of an earlier version after a copy of the file was put
    beside it. For the inside of a write transaction, which makes it happen whole or not at all.

    Raises OSError or sqlite3.Error."""
    version = version_of(connection)
    if version == 0:
        _run(connection, _tables())
    elif version == 1:
        back_up(path, version)
        _run(connection, _FROM_VERSION_1.format(tables=_tables()))
    elif version == 2:
        back_up(path, version)
        _run(connection, _FROM_VERSION_2)
        _sum_up(connection)
    if version < SCHEMA_VERSION:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _tables() -> str:
    return _TABLES.strip().format(beside=_BESIDE_TURNS)


def _sum_up(connection: sqlite3.Connection) -> None:
    """Makes the figures of the answers there are."""
    rows = connection.execute("SELECT id, created, statistics FROM turns WHERE statistics <> ''")
    for turn, created, statistics in rows:
        put_figures(connection, turn, created, statistics)


def _run(connection: sqlite3.Connection, script: str) -> None:
    # Not executescript, which would commit first.
    for statement in script.split(";"):
        connection.execute(statement)


def back_up(path: Path, version: int) -> Path:
    """Copies the database as it was committed last to a file beside it, which only its owner can
    read; returns the copy. Raises OSError or sqlite3.Error."""
    copy = path.with_name(f"{path.name}.v{version}-backup")
    unfinished = copy.with_name(f"{copy.name}-unfinished")
    unfinished.unlink(missing_ok=True)
    unfinished.touch(mode=0o600)
    with (
        contextlib.closing(sqlite3.connect(path)) as source,
        contextlib.closing(sqlite3.connect(unfinished)) as target,
    ):
        source.backup(target)
    handle = os.open(unfinished, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    unfinished.replace(copy)
    return copy


def backups_of(path: Path) -> list[Path]:
    """The copies that changes of the schema left beside the database."""
    return sorted(path.parent.glob(f"{path.name}.v*-backup*"))
