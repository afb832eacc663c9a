"""What all sources say about the candidates after one context, as bucket numbers."""

from __future__ import annotations

from itertools import islice

from sssd_chat.drafting.runnerups import KEPT
from sssd_chat.drafting.source import Match
from sssd_chat.drafting.sources.copying import MOST_MISSES, CopyPointer

LONGEST = 8
"""Match lengths from here on are one bucket."""
GAPS = 3
"""Classes of: how much shorter the candidate's match is than the longest match."""
COUNT_CLASS = (0, 0, 1, 2, 3, 3, 3, 3, 4)
"""Class of a candidate's count: 1, 2, 3, 4 to 7, more."""
COUNTS = (1.0, 2.0, 3.0, 5.5, 12.0)
"""A typical count of each class."""
OTHER_CLASS = (0, 1, 2, 3, 3, 3, 4, 4, 4, 4, 4, 4, 5)
"""Class of the count of all other candidates of the match: 0, 1, 2, 3 to 5, 6 to 11, more."""
OTHERS = (0.0, 1.0, 2.0, 4.0, 8.0, 25.0)
"""A typical count of each class."""
MATCH_BUCKETS = LONGEST * GAPS * 2 * len(COUNTS) * len(OTHERS)
"""Buckets of candidates that a text source knows. After them come those of candidates that it
does not know, by the length of its longest match."""

RANKS = KEPT + 2
"""Ranks of a candidate among runner-ups: 0 not among them, 1 to KEPT, last: nothing known."""
UNKNOWN_RANK = RANKS - 1
RUNNER_UP_BUCKETS = 2 * RANKS * RANKS
"""Rank after two or three tokens (three: the second half) and rank after one."""

LENGTH_CLASS = (0, 0, 0, 0, 0, 1, 2, 2, 3, 3, 4, 4, 4, 4, *[5] * 8, *[6] * 10, *[7] * 32)
"""Class of a copy's length; 8 for anything longer."""
LENGTH_CLASSES = 9
STORED_COPIES = (MOST_MISSES + 1) * LENGTH_CLASSES
"""Classes of copies from the conversation, by misses and length. Those from the datastore follow,
in the same order."""
COPY_CLASSES = 2 * STORED_COPIES
"""All of them. Bucket c is for the token that the copy goes on with, COPY_CLASSES + c for all
others, 2 * COPY_CLASSES for no copy at all."""

MOST_CANDIDATES = 10
"""With this many candidates from one source, its shorter matches are not looked at."""
MOST_OF_A_MATCH = 6
"""Candidates taken from one match, the most recently seen first."""

_COUNT_STEP = len(OTHERS)
_RECENT_STEP = _COUNT_STEP * len(COUNTS)
_GAP_STEP = _RECENT_STEP * 2
_LENGTH_STEP = _GAP_STEP * GAPS
_COUNT_OFFSET = [_COUNT_STEP * count_class for count_class in COUNT_CLASS]
_COUNT_LAST = len(COUNT_CLASS) - 1
_OTHER_LAST = len(OTHER_CLASS) - 1


def bucketed(matches: list[Match]) -> tuple[dict[int, int], int]:
    """Bucket of each candidate of a text source, and the length of its longest match (0 for
    none). A candidate counts at the longest match that it followed."""
    found: dict[int, int] = {}
    if not matches:
        return found, 0
    longest = matches[0].length
    for match in matches:
        length = match.length
        gap = longest - length
        offset = (length - 1 if length < LONGEST else LONGEST - 1) * _LENGTH_STEP + (
            gap if gap < GAPS else GAPS - 1
        ) * _GAP_STEP
        recent = _RECENT_STEP
        counts, total = match.counts, match.total
        for token in islice(reversed(counts), MOST_OF_A_MATCH):
            if token not in found:
                count = counts[token]
                other = total - count
                found[token] = (
                    offset
                    + recent
                    + _COUNT_OFFSET[count if count < _COUNT_LAST else _COUNT_LAST]
                    + OTHER_CLASS[other if other < _OTHER_LAST else _OTHER_LAST]
                )
            recent = 0
        if len(found) >= MOST_CANDIDATES:
            break
    return found, longest if longest < LONGEST else LONGEST


def ranked(tables: list[dict[int, tuple[int, ...]]], keys: list[int]) -> tuple[dict[int, int], int]:
    """Bucket of each runner-up after the packed contexts `keys`, and the bucket of all other
    tokens. `tables` hold the best tokens after one, two and three tokens."""
    single = tables[0].get(keys[0])
    longer = tables[2].get(keys[2]) if len(keys) > 2 else None
    half = RANKS * RANKS
    if longer is None:
        half = 0
        longer = tables[1].get(keys[1]) if len(keys) > 1 else None
    found: dict[int, int] = {}
    absent = half
    if longer is None:
        absent += UNKNOWN_RANK * RANKS
    if single is None:
        absent += UNKNOWN_RANK
    else:
        for rank, token in enumerate(single, 1):
            found[token] = absent + rank
    if longer is not None:
        for rank, token in enumerate(longer, 1):
            found[token] = found.get(token, absent) + rank * RANKS
    return found, absent


def copy_class(pointer: CopyPointer, is_stored: bool) -> int:
    """Class of a copy by where it is from, misses and length."""
    length = pointer.length
    length_class = LENGTH_CLASS[length] if length < len(LENGTH_CLASS) else LENGTH_CLASSES - 1
    own = pointer.misses * LENGTH_CLASSES + length_class
    return own + STORED_COPIES if is_stored else own


class Evidence:
    """All that is known about the token after one context, before any of it is weighed."""

    __slots__ = (
        "bias_context",
        "context",
        "conversation",
        "conversation_length",
        "copy_class",
        "copy_token",
        "runner_ups",
        "store",
        "store_length",
        "unranked",
    )

    def __init__(
        self,
        context: tuple[int, ...],
        conversation: list[Match],
        store: list[Match],
        runner_ups: tuple[dict[int, int], int],
        copy_token: int,
        copy_class: int,
    ) -> None:
        """See the attributes; `conversation` and `store` are what matched."""
        self.context = context
        """The last tokens, the last one first."""
        self.conversation, self.conversation_length = bucketed(conversation)
        """As `bucketed` gives it."""
        self.store, self.store_length = bucketed(store)
        """The same of the datastore."""
        self.runner_ups, self.unranked = runner_ups
        """As `ranked` gives it."""
        self.copy_token = copy_token
        """What a copy goes on with, or -1."""
        matched = self.conversation_length * (LONGEST + 1) + self.store_length
        self.bias_context = (context[0], matched, *context[1:])
        """What token biases depend on: the last token, how long both text sources matched, and
        the tokens before."""
        self.copy_class = copy_class
        """Class of that copy."""
