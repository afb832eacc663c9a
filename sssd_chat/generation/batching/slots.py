"""The places in the cache: handed out to answers, and kept with their text when they end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic

from sssd_chat.drafting import Drafter
from sssd_chat.generation.answer import Conversation
from sssd_chat.generation.target import State, VerifyingTarget

_WORTH_SHARING = 0.5
"""A text of which a smaller part would stay is not given up while an empty place is left."""

_FIRST_LOOK = 32
"""Tokens of two texts that are compared at first."""


class Slots(Generic[State]):
    """The conversations of all answers, and those without one at the moment.

    A prompt goes to the place whose last text begins most like it, or shares the cells of a text
    that is in use, so that what many prompts begin with is seldom read. The texts of free places
    are given up when cells are needed.
    """

    def __init__(self, target: VerifyingTarget[State], new_drafter: Callable[[], Drafter]) -> None:
        self._target = target
        self._new_drafter = new_drafter
        self._most = target.max_sequences
        self._free: list[Conversation[State]] = []
        """Those used least lately first."""
        self._taken: dict[int, Conversation[State]] = {}
        """By what `id` says of them."""

    @property
    def is_full(self) -> bool:
        """Whether no place is left."""
        return len(self._taken) >= self._most

    @property
    def kept_cells(self) -> int:
        """Cells that the texts of free places hold."""
        return sum(len(conversation.state.tokens) for conversation in self._free)

    def take(self, text: Sequence[int], most_shared: int) -> Conversation[State]:
        """A place for `text`, in which there is what it shares of its first `most_shared` tokens
        with the texts in the cache. Raises RuntimeError when `is_full`."""
        if self.is_full:
            raise RuntimeError(f"all {self._most} places are taken")
        conversation = self._place(text, most_shared)
        self._taken[id(conversation)] = conversation
        self.share(conversation, text, most_shared)
        return conversation

    def _place(self, text: Sequence[int], most_shared: int) -> Conversation[State]:
        """A place, shortened to what its own text shares."""
        shared = [common_beginning(each.state.tokens, text, most_shared) for each in self._free]
        best = max(range(len(shared)), key=shared.__getitem__, default=None)
        can_open = len(self._taken) + len(self._free) < self._most
        if best is None or (can_open and not self._is_worth(best, shared[best])):
            return Conversation(self._target.open_sequence(), self._new_drafter())
        conversation = self._free.pop(best)
        self._target.rewind(conversation.state, shared[best])
        return conversation

    def _is_worth(self, number: int, shared: int) -> bool:
        return shared > _WORTH_SHARING * len(self._free[number].state.tokens)

    def share(
        self, conversation: Conversation[State], text: Sequence[int], most_shared: int
    ) -> int:
        """Gives a taken place, which holds the beginning of `text`, the cells of the text in the
        cache that begins most like it, if these are more by so many that it pays. Returns the
        tokens that it need not read for that."""
        least, own = self._target.least_shared, conversation.state
        before = len(own.tokens)
        if least is None or most_shared - before < least:
            return 0
        source, length = self._most_alike(conversation, text, most_shared)
        if source is None or length - before < least:
            return 0
        return self._target.share(source, own, length) - before

    def _most_alike(
        self, conversation: Conversation[State], text: Sequence[int], most_shared: int
    ) -> tuple[State | None, int]:
        found, longest = None, 0
        for other in self._all():
            length = common_beginning(other.state.tokens, text, most_shared)
            if length > longest and other is not conversation:
                found, longest = other.state, length
        return found, longest

    def _all(self) -> Iterable[Conversation[State]]:
        yield from self._taken.values()
        yield from self._free

    def give_back(self, conversation: Conversation[State]) -> None:
        """The place is free again; its text stays while there is room."""
        del self._taken[id(conversation)]
        self._free.append(conversation)

    def discard(self, conversation: Conversation[State]) -> None:
        """The place is free again, and what was in it is not to be trusted."""
        del self._taken[id(conversation)]
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


def common_beginning(text: Sequence[int], other: Sequence[int], most: int) -> int:
    """Length of the common beginning, at most `most`. Costs time only for what is in common."""
    most = min(most, len(text), len(other))
    same, step = 0, _FIRST_LOOK
    while same < most:
        end = min(same + step, most)
        if list(text[same:end]) != list(other[same:end]):
            most = end
            break
        same, step = end, 2 * step
    # The first difference, if there is one, is at `same` or behind it, and before `most`.
    while most - same > 1:
        middle = (same + most) // 2
        if list(text[same:middle]) == list(other[same:middle]):
            same = middle
        else:
            most = middle
    return same
