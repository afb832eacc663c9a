"""The text of the conversation as a source of candidates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
            self.trie = Trie(self.trie.orders)
            kept = 0
        self.trie.truncate(kept)
        self.trie.extend(wanted[kept:])

    def extend(self, tokens: Iterable[int]) -> None:
        """Adds tokens to the end of the text."""
        self.trie.extend(tokens)

    def cursor(self, context: Sequence[int]) -> TrieCursor:
        """See Source."""
        return TrieCursor(self.trie, context_keys(context, self.trie.orders))
