"""The conversation trie and its copies against brute force."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.drafting.sources.conversation import ConversationSource, CopyingConversation
from sssd_chat.drafting.sources.copying import ANCHOR
from sssd_chat.drafting.sources.trie import Trie, common_prefix, context_keys
from tests.drafting.text import texts

ORDERS = 5


def counted(documents: list[list[int]], context: list[int]) -> Counter[int]:
    """What followed `context` in the documents, found the slow way."""
    size = len(context)
    return Counter(
        document[start + size]
        for document in documents
        for start in range(len(document) - size)
        if document[start : start + size] == context
    )


def matched(matches: list, length: int) -> dict[int, int]:
    """The followers of one length; one left out has those of the next longer one."""
    longer = [match for match in matches if match.length >= length]
    return dict(longer[-1].counts) if longer else {}


def same_counts(a: Trie, b: Trie) -> bool:
    def plain(trie: Trie) -> list[dict[int, dict[int, int]]]:
        return [
            {
                key: {entry: 1} if isinstance(entry, int) else dict(entry.counts)
                for key, entry in table.items()
            }
            for table in trie.tables
        ]

    return plain(a) == plain(b) and a.tokens == b.tokens and a.keys == b.keys


@given(texts, texts)
def test_matches_are_those_of_brute_force(text: list[int], context: list[int]) -> None:
    source = ConversationSource(ORDERS)
    source.begin(text)
    for query in (context, text):
        matches = source.cursor(query).matches()
        for match in matches:
            assert match.total == sum(match.counts.values()) > 0
        lengths = [match.length for match in matches]
        assert lengths == sorted(lengths, reverse=True)
        for length in range(1, min(ORDERS, len(query)) + 1):
            assert matched(matches, length) == counted([text], query[-length:])


@given(texts, texts)
def test_an_advanced_cursor_is_the_cursor_of_the_longer_context(
    text: list[int], path: list[int]
) -> None:
    source = ConversationSource(ORDERS)
    source.begin(text)
    cursor = source.cursor(text)
    for token in path:
        cursor = cursor.advance(token)
    fresh = source.cursor(text + path)
    assert [(m.length, m.counts) for m in cursor.matches()] == [
        (m.length, m.counts) for m in fresh.matches()
    ]


@given(st.lists(texts, min_size=1, max_size=4))
def test_begin_leaves_what_a_fresh_start_leaves(turns: list[list[int]]) -> None:
    conversation = CopyingConversation(ORDERS)
    for turn in turns:
        conversation.begin(turn)
    fresh = CopyingConversation(ORDERS)
    fresh.begin(turns[-1])
    assert same_counts(conversation.trie, fresh.trie)
    for start in range(len(turns[-1])):
        keys = context_keys(turns[-1][:start], ORDERS)
        assert conversation._index.find(keys) == fresh._index.find(keys)


@given(texts, st.integers(0, 40), texts)
def test_begin_touches_only_what_differs(text: list[int], kept: int, rest: list[int]) -> None:
    conversation = CopyingConversation(ORDERS)
    conversation.begin(text)
    appended: list[int] = []
    append = conversation.trie.append
    conversation.trie.append = lambda token: (appended.append(token), append(token))[1]
    wanted = text[:kept] + rest
    same = common_prefix(text, wanted)
    conversation.begin(wanted)
    if len(text) - same <= same:
        assert appended == wanted[same:]
    assert conversation.tokens == wanted


@given(texts, texts)
def test_common_prefix_is_the_longest_common_start(a: list[int], b: list[int]) -> None:
    kept = common_prefix(a, b)
    assert a[:kept] == b[:kept]
    assert kept == min(len(a), len(b)) or a[kept] != b[kept]


@given(texts)
def test_a_copy_points_at_a_real_repetition(text: list[int]) -> None:
    conversation = CopyingConversation(ORDERS)
    for token in text:
        conversation.extend([token])
        pointer, tokens = conversation.pointer, conversation.tokens
        if pointer is not None:
            assert 0 < pointer.place < len(tokens)
            length = pointer.length
            assert tokens[pointer.place - length : pointer.place] == tokens[-length:] or not length


def pointed(conversation: CopyingConversation) -> tuple[int, int, int]:
    assert conversation.pointer is not None
    text, *rest = conversation.pointer
    assert text is conversation.tokens
    return tuple(rest)


def test_a_copy_outlives_one_replaced_token() -> None:
    passage = list(range(100, 130))
    conversation = CopyingConversation(ORDERS)
    conversation.begin([*passage, 1, *passage[:12], 2])
    assert pointed(conversation) == (13, 0, 1)
    conversation.extend(passage[13:20])
    assert pointed(conversation) == (20, 7, 1)


def test_a_short_agreement_ends_with_its_first_difference() -> None:
    conversation = CopyingConversation(ORDERS)
    conversation.begin([10, 11, 12, 13, 14, 15, 1, 10, 11, 12, 13])
    assert pointed(conversation) == (4, ANCHOR, 0)
    conversation.extend([99])
    assert conversation.pointer is None
