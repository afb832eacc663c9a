"""When small parts of the datastore are joined into larger ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sssd_chat.datastore.manifest import SegmentEntry

GROWTH = 3
"""A segment joins the newer ones when it is at most so many times as large as they are together.
Each merge makes a token's segment grow, so a token is sorted O(log n) times, and the sizes of what
remains fall by more than this factor: there are O(log n) segments, but for those that are too large
to be joined."""


def mergeable(sizes: Sequence[int], most: int | None = None) -> slice:
    """Which segments should become one, the newest ones first; an empty slice for none. `sizes` are
    in tokens, oldest first; together they may have no more than `most`."""
    limit = sum(sizes) if most is None else most
    for stop in range(len(sizes), 1, -1):
        start, total = stop - 1, sizes[stop - 1]
        while start and sizes[start - 1] <= min(GROWTH * total, limit - total):
            start -= 1
            total += sizes[start]
        if stop - start > 1:
            return slice(start, stop)
    return slice(0)


def fitting(sizes: Sequence[int], most: int) -> list[list[int]]:
    """Groups of neighbours that together have at most `most` tokens, as few as may be; a segment
    that is larger is a group of its own."""
    groups: list[list[int]] = []
    total = 0
    for index, size in enumerate(sizes):
        if not groups or total + size > most:
            groups.append([])
            total = 0
        groups[-1].append(index)
        total += size
    return groups


def due_merge(entries: Iterable[SegmentEntry], most: int) -> list[str]:
    """Files that should become one; none when all is well."""
    for own in _by_collection(entries):
        if joined := own[mergeable([entry.tokens for entry in own], most)]:
            return [entry.file for entry in joined]
    return []


def compacting_merges(entries: Iterable[SegmentEntry], most: int) -> list[list[str]]:
    """Groups of files that should become one each, so that there is one for each collection."""
    return [
        [own[index].file for index in group]
        for own in _by_collection(entries)
        for group in fitting([entry.tokens for entry in own], most)
        if len(group) > 1 or own[group[0]].struck
    ]


def _by_collection(entries: Iterable[SegmentEntry]) -> Iterable[list[SegmentEntry]]:
    found: dict[str, list[SegmentEntry]] = {}
    for entry in entries:
        found.setdefault(entry.collection, []).append(entry)
    return found.values()
