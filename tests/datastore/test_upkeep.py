"""When segments are joined: few at any time, and no token sorted often."""

from __future__ import annotations

import itertools
import math

from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.datastore.manifest import SegmentEntry
from sssd_chat.datastore.upkeep import (
    GROWTH,
    compacting_merges,
    due_merge,
    fitting,
    mergeable,
)

NO_LIMIT = 1 << 40
sizes = st.lists(st.integers(1, 200), max_size=200)


@given(sizes)
def test_a_growing_datastore_has_few_segments_and_sorts_little(added: list[int]) -> None:
    segments: list[int] = []
    sorted_tokens = 0
    for size in added:
        segments.append(size)
        while len(joined := segments[mergeable(segments)]) > 1:
            segments[mergeable(segments)] = [sum(joined)]
            sorted_tokens += sum(joined)
        assert not joined
    total = sum(added)
    rounds = math.log2(total / min(added)) + 1 if total else 0
    assert sum(segments) == total
    assert len(segments) <= rounds
    assert sorted_tokens <= total * (4 * rounds + 1)


@given(sizes, st.integers(1, 1000))
def test_nothing_larger_than_allowed_is_made(own: list[int], most: int) -> None:
    segments = list(own)
    while joined := segments[mergeable(segments, most)]:
        assert sum(joined) <= most
        segments[mergeable(segments, most)] = [sum(joined)]
    # Of two neighbours the older one is far larger, or they are too large to be one.
    for older, newer in itertools.pairwise(segments):
        assert older > GROWTH * newer or older + newer > most
    groups = fitting(own, most)
    assert [index for group in groups for index in group] == list(range(len(own)))
    for group in groups:
        assert len(group) == 1 or sum(own[index] for index in group) <= most
    for group, following in itertools.pairwise(groups):
        assert sum(own[index] for index in [*group, following[0]]) > most


def test_collections_are_joined_by_themselves() -> None:
    entries = [
        SegmentEntry("1", "a", 10),
        SegmentEntry("2", "b", 10),
        SegmentEntry("3", "c", 10, struck=(0,)),
        SegmentEntry("4", "a", 10),
    ]
    assert due_merge(entries, NO_LIMIT) == ["1", "4"]
    assert due_merge(entries, 19) == []
    assert compacting_merges(entries, NO_LIMIT) == [["1", "4"], ["3"]]
    assert compacting_merges(entries, 19) == [["3"]]
