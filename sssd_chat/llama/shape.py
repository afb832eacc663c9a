"""What shape drafts may have with a model, and how many tokens its memory can take back."""

from __future__ import annotations

import enum


class DraftShape(enum.StrEnum):
    """The drafts that a model's memory allows."""

    TREES = "trees"
    """Attention alone: any tree, of which one path is kept."""
    CHAINS = "chains"
    """A recurrent state of which llama.cpp keeps the last few versions, or many texts in parts of
    the cache of their own: one path, no longer than can be taken back."""
    NONE = "none"
    """A recurrent state that cannot go back: plain decoding."""

    @property
    def can_draft(self) -> bool:
        """Whether there are drafts at all."""
        return self is not DraftShape.NONE

    @property
    def in_words(self) -> str:
        """The shape and its reason in a few words, for the screen."""
        return _WORDS[self]


_WORDS = {
    DraftShape.TREES: "trees",
    DraftShape.CHAINS: "chains (recurrent state)",
    DraftShape.NONE: "none: its recurrent state cannot go back",
}
