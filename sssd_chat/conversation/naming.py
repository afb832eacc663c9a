"""The chats and documents that spans of answers came from, by the names that people know.

Reads the disk: not for the time between two steps.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable

from sssd_chat import paths
from sssd_chat.conversation.history.names import chat_titles
from sssd_chat.conversation.history.origins import CHATS, StoredSpan, answer_of_key
from sssd_chat.conversation.shown import Span
from sssd_chat.datastore.texts import TextStore, whole_name
from sssd_chat.errors import UserError

_STARTER = "starter/"
"""With this begin the names of the collections that came with the program."""


def shown_spans(spans: Iterable[StoredSpan]) -> tuple[Span, ...]:
    """Spans without titles, which nothing is read for."""
    return tuple(Span(span.start, span.end, span.source, span.document) for span in spans)


class Names:
    """Remembers what it has looked up while one chat is shown."""

    def __init__(self) -> None:
        self._chats: dict[int, str] = {}
        self._documents: dict[tuple[str, str], str] = {}

    def forget(self) -> None:
        """A title may have changed."""
        self._chats.clear()
        self._documents.clear()

    def named(self, spans: Iterable[StoredSpan]) -> tuple[Span, ...]:
        """The spans with titles."""
        spans = tuple(spans)
        self._look_up(spans)
        return tuple(map(self._shown, spans))

    def _look_up(self, spans: tuple[StoredSpan, ...]) -> None:
        answers = (answer_of_key(span.document) for span in spans if span.source == CHATS)
        chats = {answer[0] for answer in answers if answer is not None} - self._chats.keys()
        self._chats.update(chat_titles(paths.history_file(), chats))
        places = {
            (span.source, span.document)
            for span in spans
            if span.document and span.source != CHATS and not span.source.startswith(_STARTER)
        }
        missing = places - self._documents.keys()
        if missing and paths.texts_file().exists():
            with (
                contextlib.suppress(UserError, sqlite3.Error),
                contextlib.closing(TextStore(paths.texts_file())) as texts,
            ):
                for source, document in missing:
                    title = texts.title(source, document)
                    if title is not None:
                        self._documents[source, document] = title or whole_name(document)

    def _shown(self, span: StoredSpan) -> Span:
        answer = answer_of_key(span.document) if span.source == CHATS else None
        if answer is not None:
            chat, turn = answer
            title = self._chats.get(chat, "")
            return Span(span.start, span.end, span.source, span.document, title, chat, turn)
        title = self._documents.get((span.source, span.document), "")
        if span.source.startswith(_STARTER):
            title = span.source
        return Span(span.start, span.end, span.source, span.document, title)
