"""Where the drafted pieces of an answer came from, as the history keeps it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass

CHATS = "chats"
"""The collection of the user's own answers; its documents are named "chat/turn"."""


@dataclass(frozen=True, slots=True)
class StoredSpan:
    """A piece of an answer that was drafted from one place."""

    start: int
    """Its first character in the text of the answer, thinking not counted."""
    end: int
    """The character after its last one."""
    source: str
    """The name of the source; for the datastore that of the collection."""
    document: str = ""
    """The key of the document in the collection; empty for sources that are no collection."""


def answer_of_key(key: str) -> tuple[int, int] | None:
    """The chat and the turn that a key of the collection of chats names; None for another key."""
    chat, _, turn = key.partition("/")
    return (int(chat), int(turn)) if chat.isdecimal() and turn.isdecimal() else None


def packed_spans(spans: Iterable[StoredSpan]) -> str:
    """Spans as JSON: each place once, then (start, end, number of the place) for each span. Empty
    for none."""
    places: dict[tuple[str, str], int] = {}
    numbers: list[int] = []
    for span in spans:
        place = places.setdefault((span.source, span.document), len(places))
        numbers += (span.start, span.end, place)
    if not numbers:
        return ""
    return json.dumps({"places": list(places), "spans": numbers}, separators=(",", ":"))


def unpacked_spans(text: str) -> tuple[StoredSpan, ...]:
    """The spans that `packed_spans` made `text` from; none for what is damaged."""
    try:
        content = json.loads(text) if text else {"places": [], "spans": []}
        places = [(str(source), str(document)) for source, document in content["places"]]
        numbers = iter(content["spans"])
        return tuple(
            StoredSpan(int(start), int(end), *places[place])
            for start, end, place in zip(numbers, numbers, numbers, strict=True)
        )
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        return ()


class Origins:
    """The table of spans: one row for each answer that has some."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def put(self, turn: int, spans: str) -> None:
        """Keeps the spans of a turn, as `packed_spans` gave them."""
        if spans:
            self._connection.execute("INSERT OR REPLACE INTO spans VALUES (?, ?)", (turn, spans))
        else:
            self._connection.execute("DELETE FROM spans WHERE turn = ?", (turn,))

    def forget_chat(self, chat: int) -> bool:
        """Takes out all that was drafted from a chat; False for nothing."""
        return self._forget(_beginning(CHATS, f"{chat}/"), lambda key: key.startswith(f"{chat}/"))

    def forget_collection(self, collection: str) -> bool:
        """Takes out all that was drafted from a collection; False for nothing."""
        return self._forget(_beginning(collection), lambda _: True, collection)

    def forget_documents(self, collection: str, keys: Iterable[str]) -> bool:
        """Takes out all that was drafted from documents of a collection; False for nothing."""
        gone = set(keys)
        return self._forget(_beginning(collection), gone.__contains__, collection)

    def _forget(
        self, beginning: str, is_gone: Callable[[str], bool], collection: str = CHATS
    ) -> bool:
        rows = self._connection.execute(
            "SELECT turn, spans FROM spans WHERE instr(spans, ?)", (beginning,)
        ).fetchall()
        changed = False
        for turn, text in rows:
            spans = unpacked_spans(text)
            kept = [s for s in spans if s.source != collection or not is_gone(s.document)]
            if len(kept) < len(spans):
                self.put(turn, packed_spans(kept))
                changed = True
        return changed


def _beginning(collection: str, key: str = "") -> str:
    """How a place is written in `packed_spans`, as far as it is known."""
    written = json.dumps([collection, key], separators=(",", ":"))
    return written.removesuffix('"]')
