"""The text of the conversation as a source of candidates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sssd_chat.drafting.sources.copying import (
    ANCHOR,
    CopyIndex,
    CopyPointer,
    followed,
    found_copy,
)
from sssd_chat.drafting.sources.trie import Trie, TrieCursor, common_prefix, context_keys


class ConversationSource:
    """A trie over prompt and own output, always equal to the text at hand."""

    name = "conversation"

    def __init__(self, orders: int) -> None:
        """Matches contexts of up to `orders` tokens."""
        self.trie = Trie(orders)

    @property
    def tokens(self) -> list[int]:
        """The text; not to be changed by the caller."""
        return self.trie.tokens

    def begin(self, tokens: Sequence[int]) -> None:
        """Makes the text equal to `tokens`, at the cost of what differs."""
        wanted = list(tokens)
        kept = common_prefix(self.trie.tokens, wanted)
        # Taking a token away costs about as much as adding it, so another conversation is
        # cheaper to build than to get to.
        if len(self.trie.tokens) - kept > kept:
            self._clear()
            kept = 0
        self._truncate(kept)
        self.extend(wanted[kept:])

    def extend(self, tokens: Iterable[int]) -> None:
        """Adds tokens to the end of the text."""
        self.trie.extend(tokens)

    def cursor(self, context: Sequence[int]) -> TrieCursor:
        """See Source."""
        return TrieCursor(self.trie, context_keys(context, self.trie.orders))

    def _clear(self) -> None:
        self.trie = Trie(self.trie.orders)

    def _truncate(self, length: int) -> None:
        self.trie.truncate(length)


class CopyingConversation(ConversationSource):
    """The conversation with an eye on long verbatim copies."""

    def __init__(self, orders: int) -> None:
        """Matches contexts of up to `orders` tokens, at least ANCHOR, and copies of any length."""
        super().__init__(max(orders, ANCHOR))
        self._index = CopyIndex()
        self.pointer: CopyPointer | None = None
        """The passage that the end of the text repeats."""

    def extend(self, tokens: Iterable[int]) -> None:
        """Adds tokens to the end of the text."""
        for token in tokens:
            self.pointer = followed(self.pointer, token)
            self.trie.append(token)
            if self.pointer is None or self.pointer.length < ANCHOR:
                place = self._index.find(self.trie.keys)
                if place:
                    tokens = self.trie.tokens
                    self.pointer = found_copy(tokens, place, tokens, ANCHOR)
            self._index.append(self.trie.keys)

    def advanced(
        self, pointer: CopyPointer | None, keys: list[int], token: int
    ) -> CopyPointer | None:
        """The pointer of a draft node: `pointer` is its parent's, `keys` are its own packed
        contexts, `token` its token."""
        tokens = self.trie.tokens
        pointer = followed(pointer, token)
        if pointer is None or pointer.length < ANCHOR:
            place = self._index.find(keys)
            if place:
                pointer = CopyPointer(tokens, place, ANCHOR, 0)
        return pointer if pointer is not None and pointer.place < len(tokens) else None

    def _clear(self) -> None:
        super()._clear()
        self._index = CopyIndex()
        self.pointer = None

    def _truncate(self, length: int) -> None:
        while len(self.trie.tokens) > length:
            self._index.pop(self.trie.keys)
            self.trie.truncate(len(self.trie.tokens) - 1)
            self.pointer = None
