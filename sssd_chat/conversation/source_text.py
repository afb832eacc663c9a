"""The text that a drafted piece of an answer came from.

Reads the disk: not for the thread of the screen.
"""

from __future__ import annotations

import contextlib
import lzma
import sqlite3
from dataclasses import dataclass

from sssd_chat import paths
from sssd_chat.conversation.history import History
from sssd_chat.conversation.shown import Span
from sssd_chat.conversation.thinking import split_thinking
from sssd_chat.datastore.document import CHATS, STARTER
from sssd_chat.datastore.starter import starter_corpora
from sssd_chat.datastore.texts import TextStore
from sssd_chat.errors import UserError, reason

_GONE = "The text that this was drafted from is not there any more."


@dataclass(frozen=True, slots=True)
class SourceText:
    """A text with a place in it."""

    title: str
    text: str
    start: int
    """The first character of what was drafted from it."""
    end: int
    """The character after the last one; `start` where the place is not found."""


def open_source(span: Span, piece: str) -> SourceText:
    """The earlier answer or the document that a span of an answer came from; `piece` is the text
    of the span. Raises UserError when there is no such text, or it cannot be read."""
    if not span.document:
        raise UserError("This was drafted from the conversation itself, not from another text.")
    try:
        title, text = _read(span)
    except (OSError, sqlite3.Error, lzma.LZMAError, EOFError, ValueError) as error:
        raise UserError(f"The source of this cannot be read: {reason(error)}.") from error
    start, end = _place(text, piece)
    return SourceText(title, text, start, end)


def _read(span: Span) -> tuple[str, str]:
    if span.source == CHATS:
        return _answer(span)
    if span.source.startswith(f"{STARTER}/"):
        for corpus in starter_corpora():
            if corpus.collection == span.source:
                for text in corpus.texts():
                    if text.name == span.document:
                        return text.title or f"{span.source} {text.name}", text.text
        raise UserError(_GONE)
    with contextlib.closing(TextStore(paths.texts_file())) as texts:
        found = texts.read(span.source, span.document)
    if found is None:
        raise UserError(_GONE)
    return found.title or found.name, found.text


def _answer(span: Span) -> tuple[str, str]:
    if span.chat is None:
        raise UserError(_GONE)
    with contextlib.closing(History(paths.history_file())) as history:
        if not history.has_chat(span.chat):
            raise UserError(_GONE)
        title = history.chat(span.chat).title
        for record in history.records(span.chat):
            if record.id == span.turn:
                parts = split_thinking(record.text)
                return title, "\n\n".join(filter(None, (parts.thinking, parts.text)))
    raise UserError(_GONE)


def _place(text: str, piece: str) -> tuple[int, int]:
    """Where the piece stands in the text. Tokens may end in the middle of white space or of a
    character, so without its ends it may be found as well."""
    for wanted in (piece, piece.strip(), piece.strip("\ufffd \n")):
        if wanted and (start := text.find(wanted)) >= 0:
            return start, start + len(wanted)
    return 0, 0
