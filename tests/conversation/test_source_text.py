"""From a span to the text that it came from."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest

from sssd_chat.conversation.history import History, NewTurn
from sssd_chat.conversation.shown import Span
from sssd_chat.conversation.source_text import open_source
from sssd_chat.datastore.starter import starter_corpora
from sssd_chat.datastore.texts import StoredText, TextStore
from sssd_chat.errors import UserError


def test_an_earlier_answer(home: Path) -> None:
    with contextlib.closing(History(home / "data" / "history.db")) as history:
        chat = history.add_chat("about apples", "")
        turn = history.insert(
            chat, None, NewTurn("assistant", "<think>\nhm\n</think>\n\nApples are round.")
        )
    span = Span(0, 9, "chats", f"{chat}/{turn}", chat=chat, turn=turn)
    source = open_source(span, " are round\n")
    assert (source.title, source.text[source.start : source.end]) == ("about apples", "are round")
    assert source.text == "hm\n\nApples are round."
    missing = open_source(span, "pears")
    assert missing.start == missing.end
    for gone in (replace(span, turn=turn + 1), replace(span, chat=chat + 1)):
        with pytest.raises(UserError, match="not there any more"):
            open_source(gone, "x")


def test_an_imported_document(home: Path) -> None:
    with contextlib.closing(TextStore(home / "data" / "texts.db")) as texts:
        texts.put("notes", [StoredText("/a/b.txt", "one two three", "0", "My notes")])
    source = open_source(Span(0, 1, "notes", "/a/b.txt"), "two")
    assert (source.title, source.start, source.end) == ("My notes", 4, 7)
    with pytest.raises(UserError, match="not there any more"):
        open_source(Span(0, 1, "notes", "/a/c.txt"), "two")


def test_an_answer_that_came_with_the_program() -> None:
    corpus = starter_corpora()[0]
    text = next(corpus.texts())
    source = open_source(Span(0, 1, corpus.collection, text.name), text.text[5:25])
    assert source.text == text.text and source.end - source.start >= 18


def test_the_conversation_itself_is_no_other_text() -> None:
    with pytest.raises(UserError, match="conversation itself"):
        open_source(Span(0, 1, "conversation"), "x")
