"""A trie of token windows that grows and shrinks at its end, kept as one table a depth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sssd_chat.drafting.source import Match

TOKEN_BITS = 20
"""Bits that one token takes in a packed context; no vocabulary has a million tokens."""


Entry = int | Match
"""What the trie holds for a context: most contexts have one follower seen once, which is stored
as the bare token and takes a tenth of the memory."""


def context_keys(context: Sequence[int], orders: int) -> list[int]:
    """The packed last 1, 2, … `orders` tokens of `context`, fewer when it is shorter."""
    keys: list[int] = []
    key = shift = 0
    for back in range(1, min(orders, len(context)) + 1):
        key |= context[-back] << shift
        shift += TOKEN_BITS
        keys.append(key)
    return keys


def advanced_keys(keys: list[int], token: int, orders: int) -> list[int]:
    """The packed contexts after `token` joined the text whose packed contexts are `keys`."""
    return [token, *[key << TOKEN_BITS | token for key in keys[: orders - 1]]]


class Trie:
    """Counts what followed every context of 1 to `orders` tokens of a text.

    Depth m of the trie is one dictionary from the packed last m tokens to their followers. A
    newly appended token counts at once, and truncating takes back exactly what appending added.
    """

    def __init__(self, orders: int) -> None:
        """The trie of an empty text."""
        self.orders = orders
        self.tokens: list[int] = []
        self.tables: list[dict[int, Entry]] = [{} for _ in range(orders)]
        self.keys: list[int] = []
        """Packed contexts at the end of the text, shortest first."""

    def append(self, token: int) -> None:
        """Adds one token to the end of the text."""
        for order, (table, key) in enumerate(zip(self.tables, self.keys, strict=False), 1):
            entry = table.get(key)
            if entry is None:
                table[key] = token
            elif isinstance(entry, int):
                counts = {entry: 1, token: 1} if entry != token else {token: 2}
                table[key] = Match(order, 2, counts)
            else:
                # Re-inserting keeps the dictionary in order of recency.
                entry.counts[token] = entry.counts.pop(token, 0) + 1
                entry.total += 1
        self.tokens.append(token)
        self.keys = advanced_keys(self.keys, token, self.orders)

    def extend(self, tokens: Iterable[int]) -> None:
        """Adds several tokens to the end of the text."""
        for token in tokens:
            self.append(token)

    def truncate(self, length: int) -> None:
        """Takes tokens off the end of the text till the text has `length` tokens."""
        while len(self.tokens) > length:
            token = self.tokens.pop()
            self.keys = context_keys(self.tokens, self.orders)
            for table, key in zip(self.tables, self.keys, strict=False):
                entry = table[key]
                if isinstance(entry, int) or entry.total == 1:
                    del table[key]
                    continue
                entry.total -= 1
                entry.counts[token] -= 1
                if not entry.counts[token]:
                    del entry.counts[token]

    def matches(self, keys: list[int]) -> list[Match]:
        """What followed the packed contexts `keys`, as Cursor.matches tells it."""
        found: list[Match] = []
        single = 0
        for order, (table, key) in enumerate(zip(self.tables, keys, strict=False), 1):
            entry = table.get(key)
            if entry is None:
                break
            if isinstance(entry, int):
                # All longer matches have the same single follower: only the longest is listed.
                single, follower = order, entry
            else:
                found.append(entry)
        if single:
            found.append(Match(single, 1, {follower: 1}))
        found.reverse()
        return found


class TrieCursor:
    """A context, seen from a trie."""

    __slots__ = ("_keys", "_trie")

    def __init__(self, trie: Trie, keys: list[int]) -> None:
        """`keys` are the packed contexts, shortest first."""
        self._trie = trie
        self._keys = keys

    def matches(self) -> list[Match]:
        """See Cursor."""
        return self._trie.matches(self._keys)

    def advance(self, token: int) -> TrieCursor:
        """See Cursor."""
        return TrieCursor(self._trie, advanced_keys(self._keys, token, self._trie.orders))


def common_prefix(a: list[int], b: list[int]) -> int:
    """How many tokens `a` and `b` have in common from their start."""
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    # The first `low` tokens agree, the first `high` do not.
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low
