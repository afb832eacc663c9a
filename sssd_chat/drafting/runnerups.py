"""The target's own best tokens, remembered by the tokens before them (token recycling)."""

from __future__ import annotations

from sssd_chat.drafting.sources.trie import TOKEN_BITS

KEPT = 4
"""Best tokens remembered at one context."""
LIMITS = (6_000, 12_000, 12_000)
"""Contexts of one, two and three tokens remembered at most; the longest unused are dropped."""


class RunnerUps:
    """What the target ranked best after each context of one, two or three tokens, last time.

    Dictionaries in order of use, so their first entry is the one to drop.
    """

    def __init__(self) -> None:
        """No experience."""
        self.tables: list[dict[int, tuple[int, ...]]] = [{} for _ in LIMITS]

    def add(self, keys: list[int], best: tuple[int, ...]) -> None:
        """Remembers `best`, best first, for the packed contexts `keys`, shortest first."""
        for order in range(min(len(keys), len(LIMITS))):
            self._put(order, keys[order], best)

    def add_unsaid(self, keys: list[int], best: tuple[int, ...]) -> None:
        """Remembers `best` for a context that the target looked at and did not choose.

        After a single token the answer depends on what came before it, so one that was really
        given there is worth more and stays.
        """
        for order in range(min(len(keys), len(LIMITS))):
            if order or keys[0] not in self.tables[0]:
                self._put(order, keys[order], best)

    def _put(self, order: int, key: int, best: tuple[int, ...]) -> None:
        table = self.tables[order]
        table.pop(key, None)
        table[key] = best[:KEPT]
        if len(table) > LIMITS[order]:
            del table[next(iter(table))]

    def dump(self) -> list[list[list[int]]]:
        """All of it as numbers, longest unused first: for each context its tokens, oldest
        first, then the best tokens."""
        return [
            [[*_unpacked(key, order), *best] for key, best in table.items()]
            for order, table in enumerate(self.tables, 1)
        ]

    def load(self, dumped: list[list[list[int]]]) -> None:
        """Takes over what dump gave. Raises an ordinary exception when it is something else."""
        tables: list[dict[int, tuple[int, ...]]] = []
        for order, (rows, limit) in enumerate(zip(dumped, LIMITS, strict=True), 1):
            table: dict[int, tuple[int, ...]] = {}
            for row in rows[-limit:]:
                key = 0
                for token in row[:order]:
                    key = key << TOKEN_BITS | _checked(token)
                table[key] = tuple(_checked(token) for token in row[order : order + KEPT])
            tables.append(table)
        self.tables = tables


def _unpacked(key: int, order: int) -> list[int]:
    mask = (1 << TOKEN_BITS) - 1
    return [key >> TOKEN_BITS * back & mask for back in range(order - 1, -1, -1)]


def _checked(token: object) -> int:
    if type(token) is not int or not 0 <= token < 1 << TOKEN_BITS:
        raise ValueError(f"{token!r} is no token")
    return token
