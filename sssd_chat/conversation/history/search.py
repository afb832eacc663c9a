"""Searching all chats."""

from __future__ import annotations

import itertools
import re
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sssd_chat.conversation.history.encoding import restored
from sssd_chat.conversation.history.search_index import TRIGRAM, SearchIndex
from sssd_chat.conversation.history.turns import SearchHit
from sssd_chat.text import one_line

_WALKED_TURNS = 2500
"""What is found in so many turns of the chats used last is common enough to be looked for without
the index; what is not is rare enough for the index to be quick."""
_SPARE = 5
"""The index knows nothing of when a chat was used last; so many times the chats that are wanted are
found, and those used last among them are taken."""
_BEFORE, _AFTER = 40, 120
"""Characters of an excerpt on either side of where the first match begins."""


def terms_of(query: str) -> list[str]:
    """The pieces of text that `query` asks for: its words, and what stands "in quotes" whole."""
    pieces = re.findall(r'"([^"]+)"|([^\s"]+)', query)
    return [quoted or word for quoted, word in pieces if (quoted or word).strip()]


@dataclass(slots=True)
class Search:
    """One search for text that holds all terms, in small or capital letters."""

    connection: sqlite3.Connection
    index: SearchIndex
    terms: list[str]
    limit: int

    def run(self) -> list[SearchHit]:
        """One hit for each chat: those used last first, at most `limit`."""
        if not self.terms or self.limit < 1:
            return []
        turns = {chat: turn for turn, chat in self._turns()}
        chats = sorted({*turns, *self._titles()}, key=self._used, reverse=True)
        return [self._hit(chat, turns.get(chat)) for chat in chats[: self.limit]]

    def _turns(self) -> list[tuple[int, int]]:
        """(turn, chat): the newest turn that matches in each of enough chats."""
        long = [term for term in self.terms if len(term) >= TRIGRAM]
        if not self.index.available:
            return self._walk(None)
        if long:
            return self._matching(self.index.turns_with(long))
        walked = self._walk(_WALKED_TURNS)
        if len(walked) >= self.limit:
            return walked
        return self._matching(self.index.turns_with_short(max(self.terms, key=len)))

    def _matching(self, candidates: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        patterns = self._patterns()
        found: dict[int, int] = {}
        for turn, chat in candidates:
            if chat not in found and _holds(patterns, self._text(turn)):
                found[chat] = turn
                if len(found) == _SPARE * self.limit:
                    break
        return [(turn, chat) for chat, turn in found.items()]

    def _walk(self, most_turns: int | None) -> list[tuple[int, int]]:
        """Reads the chats used last until `limit` match or `most_turns` turns have been read."""
        patterns = self._patterns()
        found: list[tuple[int, int]] = []
        read = 0
        for (chat,) in self.connection.execute("SELECT id FROM chats ORDER BY updated DESC"):
            for turn, text in self._texts(chat):
                read += 1
                if _holds(patterns, text):
                    found.append((turn, chat))
                    break
                if read == most_turns:
                    return found
            if len(found) == self.limit:
                break
        return found

    def _titles(self) -> list[int]:
        """The chats used last whose title matches, at most `limit`."""
        patterns = self._patterns()
        # SQLite is quicker at it, but knows small and capital letters in ASCII alone.
        known = [term for term in self.terms if term.isascii() and "\0" not in term]
        holds = " AND ".join(["instr(lower(title), ?)"] * len(known)) or "1"
        rows = self.connection.execute(
            f"SELECT id, title FROM chats WHERE {holds} ORDER BY updated DESC",
            [term.lower() for term in known],
        )
        found = (chat for chat, title in rows if _holds(patterns, title))
        return list(itertools.islice(found, self.limit))

    def _used(self, chat: int) -> tuple[float, int]:
        row = self.connection.execute("SELECT updated, id FROM chats WHERE id = ?", (chat,))
        return row.fetchone() or (0.0, 0)

    def _hit(self, chat: int, turn: int | None) -> SearchHit:
        title, updated = self.connection.execute(
            "SELECT title, updated FROM chats WHERE id = ?", (chat,)
        ).fetchone()
        if turn is None:
            return SearchHit(chat, title, updated, None, "", title, self._marks(title))
        role, text = self.connection.execute(
            "SELECT role, text FROM turns WHERE id = ?", (turn,)
        ).fetchone()
        excerpt = excerpt_of(restored(text), self._patterns())
        return SearchHit(chat, title, updated, turn, role, excerpt, self._marks(excerpt))

    def _marks(self, excerpt: str) -> tuple[tuple[int, int], ...]:
        spans = sorted(m.span() for p in self._patterns() for m in p.finditer(excerpt))
        marks: list[tuple[int, int]] = []
        for begin, end in spans:
            if marks and begin <= marks[-1][1]:
                marks[-1] = marks[-1][0], max(end, marks[-1][1])
            else:
                marks.append((begin, end))
        return tuple(marks)

    def _patterns(self) -> list[re.Pattern[str]]:
        return [re.compile(re.escape(term), re.IGNORECASE) for term in self.terms]

    def _text(self, turn: int) -> str:
        row = self.connection.execute("SELECT text FROM turns WHERE id = ?", (turn,)).fetchone()
        return "" if row is None else restored(row[0])

    def _texts(self, chat: int) -> Iterator[tuple[int, str]]:
        rows = self.connection.execute(
            "SELECT id, text FROM turns WHERE chat = ? ORDER BY id DESC", (chat,)
        )
        return ((turn, restored(text)) for turn, text in rows)


def _holds(patterns: list[re.Pattern[str]], text: str) -> bool:
    return all(pattern.search(text) for pattern in patterns)


def excerpt_of(text: str, patterns: list[re.Pattern[str]]) -> str:
    """The neighbourhood of the first match, on one line, with … where something is left out."""
    first = min((m.start() for p in patterns if (m := p.search(text))), default=0)
    begin, end = max(0, first - _BEFORE), min(len(text), first + _AFTER)
    before, after = "…" if begin else "", "…" if end < len(text) else ""
    return before + one_line(text[begin:end]) + after
