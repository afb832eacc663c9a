"""Segments in memory: sampling, striking out, merging, and what their check finds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.datastore.document import Document
from sssd_chat.datastore.segment import Segment
from sssd_chat.datastore.snapshot import Followers, Snapshot
from sssd_chat.datastore.suffix_array import END
from tests.datastore.truth import (
    ALPHABETS,
    LARGEST,
    UNLIMITED,
    check_followers,
    document,
    packed,
    random_documents,
    token_lists,
)

document_lists = st.lists(token_lists(ALPHABETS[0], size=40), max_size=6)


def segment_of(texts: list[list[int]], collection: str = "chats", first: int = 0) -> Segment:
    return Segment.of(
        collection, [document(str(first + at), tokens) for at, tokens in enumerate(texts)]
    )


def plain(segment: Segment) -> list[tuple[str, list[int]]]:
    return [(each.label.key, each.tokens.tolist()) for each in segment.documents()]


def places(result: Followers) -> list[tuple[int, int, int]]:
    return [(id(segment), position, token) for token, segment, position in result.places]


@given(document_lists, st.integers(1, 20), token_lists((0, 1), size=8))
def test_a_sample_is_a_fixed_stride_through_all_places(
    texts: list[list[int]], most: int, context: list[int]
) -> None:
    segment = segment_of(texts)
    for length, (left, count) in enumerate(segment.ranges(packed(context), 8), start=1):
        everything = segment.followers((left, count), length, UNLIMITED)
        assert everything == sorted(everything)
        taken = {
            int(segment.order[left + index * count // most]) // 4 + length for index in range(most)
        }
        expected = everything if count <= most else [x for x in everything if x[0] in taken]
        assert segment.followers((left, count), length, most) == expected


@given(st.lists(document_lists, max_size=4), st.integers(1, 20), token_lists((0, 1), size=8))
def test_samples_of_several_segments_are_shared_out(
    parts: list[list[list[int]]], samples: int, context: list[int]
) -> None:
    snapshot = Snapshot(tuple(segment_of(texts) for texts in parts))
    everything = snapshot.followers(packed(context), UNLIMITED, samples=UNLIMITED)
    sampled = snapshot.followers(packed(context), UNLIMITED, samples=samples)
    assert [x.length for x in sampled] == [x.length for x in everything]
    for all_places, some in zip(everything, sampled, strict=True):
        assert some.total == all_places.total
        assert len(some.places) <= samples + len(parts)
        assert set(places(some)) <= set(places(all_places))
        if some.total <= samples:
            assert places(some) == places(all_places)


@given(document_lists, token_lists((0, 1), size=8), st.integers(1, 3))
def test_enough_tokens_end_the_search(
    texts: list[list[int]], context: list[int], enough: int
) -> None:
    snapshot = Snapshot((segment_of(texts),))
    everything = snapshot.followers(packed(context), UNLIMITED)
    some = snapshot.followers(packed(context), enough)
    assert [places(x) for x in some] == [places(x) for x in everything[: len(some)]]
    seen = [{token for token, _, _ in x.places} for x in some]
    assert len(set().union(*seen[:-1])) < enough
    assert len(some) == len(everything) or len(set().union(*seen)) >= enough


@given(document_lists, st.sets(st.integers(0, 5)), token_lists((0, 1), size=8))
def test_struck_documents_follow_nothing(
    texts: list[list[int]], numbers: set[int], context: list[int]
) -> None:
    segment = segment_of(texts)
    struck = [number for number in sorted(numbers) if number < len(texts)]
    for number in struck:
        segment.strike([number])
    assert segment.struck == struck
    assert segment.struck_tokens == sum(len(texts[number]) + 1 for number in struck)
    kept = [(str(at), text) for at, text in enumerate(texts) if at not in struck]
    assert plain(segment) == kept
    for result in Snapshot((segment,)).followers(packed(context), UNLIMITED, samples=UNLIMITED):
        assert not {segment.number_at(position) for _, _, position in result.places} & set(struck)
    if kept:
        merged = Segment.merged([segment])
        assert plain(merged) == kept
        assert merged.check_integrity() is None
        check_followers(Snapshot((merged,)), {("chats", key): text for key, text in kept}, context)


@given(st.lists(document_lists.filter(bool), min_size=1, max_size=4))
def test_a_merged_segment_is_the_segment_of_all_documents(parts: list[list[list[int]]]) -> None:
    everything = [text for texts in parts for text in texts]
    first = 0
    segments = []
    for texts in parts:
        segments.append(segment_of(texts, first=first))
        first += len(texts)
    merged, whole = Segment.merged(segments), segment_of(everything)
    assert plain(merged) == plain(whole)
    assert merged.order.tolist() == whole.order.tolist()
    assert merged.text.tolist() == whole.text.tolist()
    assert merged.starts.tolist() == whole.starts.tolist()


def test_the_age_of_a_place_is_that_of_its_document() -> None:
    segment = segment_of([[7], [7, 7], [], [7]])
    assert [segment.number_at(position) for position in range(len(segment))] == [
        *(0, 0),
        *(1, 1, 1),
        2,
        *(3, 3),
    ]


@pytest.mark.parametrize("number", [-1, END, 1 << 40])
def test_what_is_no_token_is_refused(number: int) -> None:
    assert Document.of("fine", [0, LARGEST]).tokens.tolist() == [0, LARGEST]
    with pytest.raises(ValueError, match="'strange'"):
        Document.of("strange", [1, number])


def _swap(segment: Segment) -> None:
    segment.order[[3, 4]] = segment.order[[4, 3]]


def _repeat(segment: Segment) -> None:
    segment.order[3] = segment.order[4]


def _point(offset: int) -> Callable[[Segment], None]:
    def damage(segment: Segment) -> None:
        segment.order[3] += offset

    return damage


def _unend(segment: Segment) -> None:
    segment.text.view(">u4")[int(segment.starts[1]) - 1] = 7


def _end_early(segment: Segment) -> None:
    segment.text.view(">u4")[0] = END


def _overlap(segment: Segment) -> None:
    segment.starts[1] = segment.starts[2]


def _shorten(segment: Segment) -> None:
    segment.starts[-1] -= np.uint32(1)


def _unname(segment: Segment) -> None:
    segment.labels = segment.labels[1:]


@pytest.mark.parametrize(
    ("damage", "finding"),
    [
        (_swap, "out of order"),
        (_repeat, "leaves tokens out"),
        (_point(1), "middle of a token"),
        (_point(1 << 20), "outside the text"),
        (_point(-1 << 20), "outside the text"),
        (_unend, "no end"),
        (_end_early, "no end"),
        (_overlap, "overlap"),
        (_shorten, "differ in length"),
        (_unname, "names more or fewer"),
    ],
)
def test_a_check_finds_what_is_wrong(damage: Callable[[Segment], None], finding: str) -> None:
    texts = [list(text) for text in random_documents(1, 5, size=20).values()]
    segment = segment_of([[1, 2, 3], [4, 5], *texts])
    assert segment.check_integrity() is None
    damage(segment)
    assert finding in str(segment.check_integrity())
