"""Reading a question while it is typed: how much of it is certain, and whether there is power."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LONGEST_WORD = 32
_LAST_WORD = re.compile(r"\s*\S*\Z")


def certain_part(draft: str) -> str:
    """The beginning of a draft whose division into tokens hardly changes when more is typed: all
    but its last word, and of a script without spaces all but the last few characters."""
    start = max(0, len(draft) - _LONGEST_WORD)
    found = _LAST_WORD.search(draft, start)
    return draft[: found.start()] if found else draft[:start]


def shared_tokens(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """The tokens with which both begin."""
    pairs = enumerate(zip(left, right, strict=False))
    shared = next((place for place, (one, other) in pairs if one != other), None)
    return list(left[: min(len(left), len(right)) if shared is None else shared])


def on_battery() -> bool:
    """Whether the machine runs on battery power, as far as that can be known."""
    import psutil

    read = getattr(psutil, "sensors_battery", None)
    battery = read() if read is not None else None
    return battery is not None and not battery.power_plugged
