"""The list of what drafts come from, and forgetting from it."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from sssd_chat import paths
from sssd_chat.conversation.datastore_library import DatastoreLibrary, DocumentEntry
from sssd_chat.conversation.history import History, NewTurn
from sssd_chat.conversation.history.origins import StoredSpan, packed_spans, unpacked_spans
from sssd_chat.datastore.document import CHATS, Document
from sssd_chat.datastore.savings import Saving, add_savings
from sssd_chat.datastore.store import Datastore
from sssd_chat.datastore.texts import StoredText, TextStore, part_name
from sssd_chat.errors import UserError

LONG = part_name("/b.txt", 2)


@pytest.fixture
def library(home: Path) -> DatastoreLibrary:
    """Two vocabularies that know the same collections, one of them only a part."""
    with contextlib.closing(TextStore(paths.texts_file())) as texts:
        stored = [StoredText("/a.txt", "one", "0", "First"), StoredText("/b.txt", "two", "0", "B")]
        texts.put("notes", [*stored, StoredText(LONG, "three", "0", "B")])
    with contextlib.closing(History(paths.history_file())) as history:
        chat = history.add_chat("hello", "")
        spans = [StoredSpan(0, 1, "notes", "/a.txt"), StoredSpan(1, 2, "notes", LONG)]
        history.insert(chat, None, NewTurn("assistant", "an answer", spans=packed_spans(spans)))
    for fingerprint, keys in (("aaaa", ["/a.txt"]), ("bbbb", ["/a.txt", "/b.txt", LONG])):
        with contextlib.closing(Datastore(paths.datastore_folder() / fingerprint)) as store:
            for key in keys:
                store.add("notes", Document.of(key, [1, 2, 3]))
            store.add(CHATS, Document.of("1/1", [4, 5]))
            store.add("starter/x", Document.of("0/0", [6]))
    add_savings(paths.savings_file(), {"notes": Saving(7, 1.5)})
    return DatastoreLibrary()


def kept_spans() -> list[str]:
    with contextlib.closing(History(paths.history_file())) as history:
        (record,) = history.records(1)
    return [span.document for span in unpacked_spans(record.spans)]


def test_collections_over_all_vocabularies(library: DatastoreLibrary) -> None:
    chats, notes, starter = library.collections()
    assert (notes.name, notes.documents, notes.tokens) == ("notes", 3, 9)
    assert (notes.saved_tokens, notes.saved_seconds) == (7, 1.5)
    assert [chats.kind, notes.kind, starter.kind] == ["chats", "imported", "starter"]
    assert library.documents("notes") == [
        DocumentEntry("/a.txt", "First"),
        DocumentEntry("/b.txt", "B"),
    ]


def test_forgetting_a_document(library: DatastoreLibrary) -> None:
    seen: list[tuple[int, int]] = []
    library.forget_document("/b.txt", "notes", lambda done, total: seen.append((done, total)))
    assert seen == [(0, 2), (1, 2), (2, 2)]
    assert [d.name for d in library.documents("notes")] == ["/a.txt"]
    assert library.collections()[1].documents == 1
    assert kept_spans() == ["/a.txt"]
    with pytest.raises(UserError, match="no document"):
        library.forget_document("/b.txt", "notes")


def test_forgetting_a_collection_and_a_chat(library: DatastoreLibrary) -> None:
    library.forget_collection("notes")
    assert kept_spans() == []
    library.forget_chat(1)
    assert [entry.name for entry in library.collections()] == ["starter/x"]


def test_no_history_is_made_by_forgetting(library: DatastoreLibrary) -> None:
    paths.history_file().unlink()
    library.forget_collection("notes")
    assert not paths.history_file().exists()


def test_the_speed_of_nothing(home: Path) -> None:
    assert DatastoreLibrary().speed_curve() == ()
    assert DatastoreLibrary().collections() == []
