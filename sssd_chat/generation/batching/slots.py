"""The places in the cache: handed out to answers, and kept with their text when they end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic

from sssd_chat.drafting import Drafter
from sssd_chat.generation.answer import Conversation
from sssd_chat.generation.target import State, VerifyingTarget

_WORTH_SHARING = 0.5
"""A text of which a smaller part would stay is not given up while an empty place is left."""


class Slots(Generic[State]):
    """Conversations without an answer of their own at the moment.

    A prompt goes to the place whose last text begins most like it, so that what many prompts
    begin with is seldom read. The texts of free places are given up when cells are needed.
    """

    def __init__(self, target: VerifyingTarget[State], new_drafter: Callable[[], Drafter]) -> None:
        self._target = target
        self._new_drafter = new_drafter
        self._most = target.max_sequences
        self._free: list[Conversation[State]] = []
        """Those used least lately first."""
        self._taken = 0

    @property
    def is_full(self) -> bool:
        """Whether no place is left."""
        return self._taken >= self._most

    @property
    def kept_cells(self) -> int:
        """Cells that the texts of free places hold."""
        return sum(len(conversation.state.tokens) for conversation in self._free)

    def take(self, text: Sequence[int], most_shared: int) -> Conversation[State]:
        """A place for `text`, shortened to what its own text shares with the first `most_shared`
        tokens of it. Raises RuntimeError when `is_full`."""
        if self.is_full:
            raise RuntimeError(f"all {self._most} places are taken")
        self._taken += 1
        shared = [_shared(each.state.tokens, text, most_shared) for each in self._free]
        best = max(range(len(shared)), key=shared.__getitem__, default=None)
        can_open = self._taken + len(self._free) <= self._most
        if best is None or (can_open and not self._is_worth(best, shared[best])):
            return Conversation(self._target.open_sequence(), self._new_drafter())
        conversation = self._free.pop(best)
        self._target.rewind(conversation.state, shared[best])
        return conversation

    def _is_worth(self, number: int, shared: int) -> bool:
        return shared > _WORTH_SHARING * len(self._free[number].state.tokens)

    def give_back(self, conversation: Conversation[State]) -> None:
        """The place is free again; its text stays while there is room."""
        self._taken -= 1
        self._free.append(conversation)

    def discard(self, conversation: Conversation[State]) -> None:
        """The place is free again, and what was in it is not to be trusted."""
        self._taken -= 1
        self._target.close_sequence(conversation.state)

    def shrink(self, cells: int) -> int:
        """Gives up at least so many cells of kept texts, if there are; the ends of those used
        least lately first. Returns how many were given up."""
        given = 0
        for conversation in self._free:
            if given >= cells:
                break
            length = len(conversation.state.tokens)
            given += length - self._target.rewind(
                conversation.state, max(0, length - (cells - given))
            )
        return given

    def close(self) -> None:
        """Takes every free place out of the cache."""
        for conversation in self._free:
            self._target.close_sequence(conversation.state)
        self._free.clear()


def _shared(text: Sequence[int], other: Sequence[int], most: int) -> int:
    """Length of the common beginning, at most `most`."""
    most = min(most, len(text), len(other))
    if list(text[:most]) == list(other[:most]):
        return most
    return next(place for place in range(most) if text[place] != other[place])
