"""The full-text index: which turns hold a piece of text, in any script.

It is made of the runs of three characters (trigrams) of each text, so it knows nothing of words and
serves Chinese as well as English. It keeps no text of its own, and can be made anew from the turns.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from sssd_chat.conversation.history.encoding import restored

TRIGRAM = 3
"""Characters of the shortest text that the index finds directly."""

_LOOKED_UP = 12
"""Characters after which so few turns are left that reading them is quicker than looking on."""

# Behind each text, so that a trigram begins at each of its characters and a search for one or two
# characters is a search for the trigrams that begin with them.
_PADDING = "  "

_STALE, _READY = "stale", "ready"


class SearchIndex:
    """The index in the database of a connection. Where SQLite was built without it, `available` is
    False and everything else does nothing."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.available = _has_trigrams(connection)

    def needs_rebuild(self) -> bool:
        """Whether the index could be there but does not hold all turns."""
        return self.available and not self._is_ready()

    def mark(self) -> None:
        """To be called in each transaction that changes turns: a program without the index leaves
        word that it is out of date."""
        if not self.available and self._is_ready():
            self._set_state(_STALE)

    def rebuild(self) -> None:
        """Makes the index anew from all turns if need be, inside of a transaction."""
        if not self.needs_rebuild():
            # Another program was quicker.
            return
        connection = self._connection
        connection.execute("DROP TABLE IF EXISTS main.search")
        connection.execute(
            "CREATE VIRTUAL TABLE main.search USING fts5"
            "(text, tokenize = 'trigram', content = '', columnsize = 0)"
        )
        turns = connection.execute("SELECT id, text FROM turns WHERE status <> 'streaming'")
        connection.executemany(
            "INSERT INTO search (rowid, text) VALUES (?, ?)",
            ((turn, _indexable(restored(text))) for turn, text in turns),
        )
        self._set_state(_READY)

    def add(self, turn: int, text: str) -> None:
        """Lets the turn be found."""
        if self.available:
            self._connection.execute(
                "INSERT INTO search (rowid, text) VALUES (?, ?)", (turn, _indexable(text))
            )

    def remove(self, turn: int, text: str) -> None:
        """Takes out a turn that was added with this text."""
        if self.available:
            self._connection.execute(
                "INSERT INTO search (search, rowid, text) VALUES ('delete', ?, ?)",
                (turn, _indexable(text)),
            )

    def clear(self) -> None:
        """Takes out everything."""
        if self.available:
            self._connection.execute("INSERT INTO search (search) VALUES ('delete-all')")

    def compact(self) -> None:
        """Removes what deleted turns left in the index."""
        if self.available:
            self._connection.execute("INSERT INTO search (search) VALUES ('optimize')")

    def turns_with(self, texts: list[str]) -> Iterator[tuple[int, int]]:
        """The turns that hold the beginnings of all `texts` (three characters or more each),
        newest first, each with its chat."""
        wanted = " AND ".join(_quoted(text[:_LOOKED_UP]) for text in texts)
        # CROSS JOIN keeps the order, so that the first ones come without looking for all.
        return self._connection.execute(
            "SELECT turns.id, turns.chat FROM search CROSS JOIN turns ON turns.id = search.rowid"
            " WHERE search MATCH ? ORDER BY search.rowid DESC",
            (wanted,),
        )

    def turns_with_short(self, text: str) -> Iterator[tuple[int, int]]:
        """The turns that hold `text` of one or two characters, newest first, each with its chat.
        Dear for text that is common."""
        self._connection.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.search_terms"
            " USING fts5vocab(main, search, instance)"
        )
        text = folded(_prepared(text))
        turns = self._connection.execute(
            "SELECT DISTINCT doc FROM temp.search_terms WHERE term >= ? AND term < ?",
            (text, text[:-1] + _next_character(text[-1])),
        )
        for (turn,) in sorted(turns, reverse=True):
            row = self._connection.execute("SELECT chat FROM turns WHERE id = ?", (turn,))
            yield from ((turn, chat) for (chat,) in row)

    def _is_ready(self) -> bool:
        row = self._connection.execute("SELECT value FROM facts WHERE name = 'search'").fetchone()
        return row is not None and row[0] == _READY

    def _set_state(self, state: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO facts VALUES ('search', ?)", (state,))


def folded(text: str) -> str:
    """`text` without the difference of small and capital letters, as the index sees it; as long
    as before."""
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _has_trigrams(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("CREATE VIRTUAL TABLE temp.probe USING fts5(a, tokenize = 'trigram')")
        connection.execute("DROP TABLE temp.probe")
    except sqlite3.OperationalError:
        return False
    return True


def _indexable(text: str) -> str:
    return _prepared(text) + _PADDING


def _prepared(text: str) -> str:
    # The index ends a text at NUL and takes no lone surrogates.
    return text.encode("utf-8", "replace").decode().replace("\0", " ")


def _quoted(text: str) -> str:
    return '"' + _prepared(text).replace('"', '""') + '"'


def _next_character(character: str) -> str:
    following = ord(character) + 1
    if following == 0xD800:
        following = 0xE000
    return chr(min(following, 0x10FFFF))
