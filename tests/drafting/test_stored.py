"""The datastore as a source: what it proposes is what its documents hold, and it says where."""

from __future__ import annotations

from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from sssd_chat.datastore.document import Document
from sssd_chat.datastore.pending import Pending
from sssd_chat.datastore.snapshot import LONGEST, SAMPLES, Snapshot
from sssd_chat.datastore.store import Datastore
from sssd_chat.drafting.evidence import MOST_CANDIDATES
from sssd_chat.drafting.source import Match
from sssd_chat.drafting.sources.growing import GrowingSource
from sssd_chat.drafting.sources.stored import StoredSource
from tests.drafting.test_trie import counted, matched
from tests.drafting.text import texts

document_lists = st.lists(texts, max_size=5)


class Shelf:
    """A datastore of documents that stay where they are: in a segment each, or all in one."""

    def __init__(self, documents: list[list[int]], is_merged: bool = False) -> None:
        pending = Pending()
        for number, tokens in enumerate(documents):
            pending.add("chats" if number % 2 else "starter/a", Document.of(str(number), tokens))
        if is_merged:
            pending.fill(pending.entries)
        self.snapshot = Snapshot(pending.segments)


def plain(matches: list[Match]) -> list[tuple[int, int, dict[int, int]]]:
    return [(match.length, match.total, match.counts) for match in matches]


def occurrences(documents: list[list[int]], text: list[int]) -> int:
    length = len(text)
    starts = ((document, at) for document in documents for at in range(len(document)))
    return sum(document[at : at + length] == text for document, at in starts)


def check_matches(matches: list[Match], documents: list[list[int]], context: list[int]) -> None:
    lengths = [match.length for match in matches]
    assert lengths == sorted(lengths, reverse=True)
    candidates: set[int] = set()
    for match in matches:
        assert len(candidates) < MOST_CANDIDATES
        candidates |= set(match.counts)
    for length in range(min(LONGEST, len(context)), 0, -1):
        if len(candidates) >= MOST_CANDIDATES and length < lengths[-1]:
            break
        expected = counted(documents, context[-length:])
        found = matched(matches, length)
        # Where a document ends nothing follows, but it may be one of the places that are looked at.
        if occurrences(documents, context[-length:]) <= SAMPLES:
            assert found == expected
        else:
            assert found.keys() <= expected.keys()
            assert all(count <= expected[token] for token, count in found.items())
            assert found
    for match in matches:
        assert match.total == sum(match.counts.values()) > 0


@given(document_lists, texts, st.booleans())
def test_matches_are_those_of_brute_force(
    documents: list[list[int]], context: list[int], is_merged: bool
) -> None:
    source = StoredSource(Shelf(documents, is_merged))
    for query in (context, [], *documents):
        check_matches(source.cursor(query).matches(), documents, query)


@given(st.lists(st.lists(st.integers(0, 30), max_size=60), max_size=4), st.data())
def test_many_candidates_end_the_search(documents: list[list[int]], data: st.DataObject) -> None:
    source = StoredSource(Shelf(documents))
    text = data.draw(st.sampled_from([[], *documents]))
    context = text[: data.draw(st.integers(0, len(text)))]
    check_matches(source.cursor(context).matches(), documents, context)


@example([[0] * 9, [0] * 9], [0])
@given(document_lists, texts)
def test_documents_of_a_growing_datastore_do_not_run_into_each_other(
    documents: list[list[int]], context: list[int]
) -> None:
    source = GrowingSource()
    for document in documents:
        source.add(document)
    check_matches(source.cursor(context).matches(), documents, context)


@given(document_lists, texts, texts)
def test_an_advanced_cursor_is_the_cursor_of_the_longer_context(
    documents: list[list[int]], context: list[int], path: list[int]
) -> None:
    source = StoredSource(Shelf(documents))
    cursor = source.cursor(context)
    for token in path:
        cursor = cursor.advance(token)
    assert plain(cursor.matches()) == plain(source.cursor(context + path).matches())


@given(document_lists, texts)
def test_a_candidate_knows_its_document(documents: list[list[int]], context: list[int]) -> None:
    cursor = StoredSource(Shelf(documents)).cursor(context)
    matches = cursor.matches()
    for token in {token for match in matches for token in match.counts}:
        place = cursor.place(token)
        assert place is not None
        number = int(place.label.key)
        document = documents[number]
        assert place.collection == ("chats" if number % 2 else "starter/a")
        at = place.position - int(place.segment.starts[place.segment.number_at(place.position)])
        assert document[at] == token
        longest = max(match.length for match in matches if token in match.counts)
        assert document[at - longest : at] == context[-longest:]
    assert cursor.place(99) is None


def test_of_two_documents_the_newer_one_is_named() -> None:
    cursor = StoredSource(Shelf([[1, 2, 3], [1, 2, 4], [1, 2, 3]])).cursor([1, 2])
    places = {token: cursor.place(token) for token in (3, 4)}
    assert {token: place and place.label.key for token, place in places.items()} == {
        3: "2",
        4: "1",
    }
    assert list(cursor.matches()[0].counts.items()) == [(4, 1), (3, 2)]


def test_what_changes_in_the_datastore_is_seen(tmp_path: Path) -> None:
    store = Datastore(tmp_path / "datastore")
    source = StoredSource(store)
    assert source.cursor([1]).matches() == []
    store.add("chats", Document.of("a", [1, 2]))
    assert plain(source.cursor([1]).matches()) == [(1, 1, {2: 1})]
    store.add("chats", Document.of("b", [1, 3]))
    store.seal()
    assert plain(source.cursor([1]).matches()) == [(1, 2, {2: 1, 3: 1})]
    store.forget("chats", ["a"])
    assert plain(source.cursor([1]).matches()) == [(1, 1, {3: 1})]
    store.forget_everything()
    assert source.cursor([1]).matches() == []
    store.close()


def test_a_context_is_looked_up_once_while_nothing_changes(tmp_path: Path) -> None:
    store = Datastore(tmp_path / "datastore")
    store.add("chats", Document.of("a", [1, 2]))
    source = StoredSource(store)
    matches = source.cursor([1]).matches()
    assert source.cursor([1]).matches() is matches
    assert source.cursor([5]).advance(1).matches() is not matches
    store.add("chats", Document.of("b", [7]))
    again = source.cursor([1]).matches()
    assert again is not matches
    assert plain(again) == plain(matches)
    store.close()
