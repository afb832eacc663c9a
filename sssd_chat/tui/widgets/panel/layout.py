"""Which sections of the panel are shown, and how high, in the room there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wish:
    """What a section would like."""

    rank: int
    """The higher, the sooner the section goes without."""
    heights: tuple[int, ...]
    """The heights it can make use of, in lines, the smallest first."""


def plan(wishes: Sequence[Wish], room: int, between: int) -> list[int]:
    """The height of each section, 0 for one that is left out; all together take `room` lines at
    most, with `between` lines of frame for each. The important ones come in first, then those that
    are in grow in turn."""
    heights = [0] * len(wishes)
    left = room
    order = sorted(range(len(wishes)), key=lambda n: wishes[n].rank)
    shown = []
    for index in order:
        cost = wishes[index].heights[0] + between
        if cost > left:
            break
        heights[index] = wishes[index].heights[0]
        left -= cost
        shown.append(index)
    for level in range(1, max((len(wish.heights) for wish in wishes), default=0)):
        for index in shown:
            steps = wishes[index].heights
            # One that could not grow to the height before this does not skip it.
            if level >= len(steps) or heights[index] != steps[level - 1]:
                continue
            if steps[level] - heights[index] <= left:
                left -= steps[level] - heights[index]
                heights[index] = steps[level]
    return heights
