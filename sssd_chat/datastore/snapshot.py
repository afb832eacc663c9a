"""One state of the datastore, as searches see it: it never changes while it is looked at."""

from __future__ import annotations

from dataclasses import dataclass

from sssd_chat.datastore.document import Label
from sssd_chat.datastore.segment import Range, Segment

LONGEST = 8
"""Longest context that is matched, in tokens."""
SAMPLES = 16
"""Places that are looked at for one match length, over all segments."""


@dataclass(frozen=True, slots=True)
class Place:
    """A token in the datastore."""

    segment: Segment
    position: int

    @property
    def collection(self) -> str:
        """The collection that it belongs to."""
        return self.segment.collection

    @property
    def label(self) -> Label:
        """The document that it belongs to. The first call for a segment reads its list of
        documents."""
        return self.segment.label_at(self.position)


class Followers:
    """What followed one match length."""

    __slots__ = ("length", "places", "total")

    def __init__(self, length: int, total: int, places: list[tuple[int, Segment, int]]) -> None:
        """See the attributes."""
        self.length = length
        """Tokens of the context that were matched."""
        self.total = total
        """Places where the context stands, in all segments."""
        self.places = places
        """(token, segment, position) of a sample of what follows there, oldest first."""


class Snapshot:
    """Segments to be searched together, oldest first."""

    __slots__ = ("segments",)

    def __init__(self, segments: tuple[Segment, ...] = ()) -> None:
        self.segments = segments

    def __len__(self) -> int:
        """Tokens of all segments."""
        return sum(map(len, self.segments))

    def followers(
        self, context: bytes, enough: int, longest: int = LONGEST, samples: int = SAMPLES
    ) -> list[Followers]:
        """What followed the last tokens of `context` (big-endian), longest match first.

        Lengths with the same places as the next longer one are left out, and when `enough`
        different tokens were found, shorter matches are not looked at. Costs O(log n) for each
        segment and length, and at most `samples` places a length.
        """
        found = [
            (segment, ranges)
            for segment in self.segments
            if (ranges := segment.ranges(context, longest))
        ]
        result: list[Followers] = []
        seen: set[int] = set()
        total = 0
        for length in range(max((len(ranges) for _, ranges in found), default=0), 0, -1):
            here = [
                (segment, ranges[length - 1]) for segment, ranges in found if len(ranges) >= length
            ]
            count = sum(place[1] for _, place in here)
            if count == total:
                continue
            total = count
            places = _sampled(here, length, count, samples)
            result.append(Followers(length, total, places))
            seen.update(token for token, _, _ in places)
            if len(seen) >= enough:
                break
        return result


def _sampled(
    here: list[tuple[Segment, Range]], length: int, total: int, samples: int
) -> list[tuple[int, Segment, int]]:
    places: list[tuple[int, Segment, int]] = []
    for segment, place in here:
        # Each segment has its share, and at least one place.
        most = samples if total <= samples else -(-samples * place[1] // total)
        places += [
            (token, segment, position) for position, token in segment.followers(place, length, most)
        ]
    return places
