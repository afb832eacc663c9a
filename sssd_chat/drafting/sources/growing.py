"""An in-memory datastore of finished answers, searchable as soon as they are added."""

from __future__ import annotations

from collections.abc import Sequence

from sssd_chat.drafting.sources.trie import Trie, TrieCursor, context_keys


class GrowingSource:
    """Counts over whole documents; contexts do not reach from one document into another."""

    name = "datastore"

    def __init__(self, orders: int = 7) -> None:
        """Matches contexts of up to `orders` tokens."""
        self.trie = Trie(orders)

    def add(self, tokens: Sequence[int]) -> None:
        """Adds one document."""
        self.trie.begin_document()
        self.trie.extend(tokens)

    def cursor(self, context: Sequence[int]) -> TrieCursor:
        """See Source."""
        return TrieCursor(self.trie, context_keys(context, self.trie.orders))
