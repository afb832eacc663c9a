"""The turns of one chat in memory: a tree of which one branch goes on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sssd_chat.conversation.history.origins import StoredSpan
from sssd_chat.conversation.parts import Parts
from sssd_chat.generation.statistics import AnswerStatistics


@dataclass(slots=True)
class Turn:
    """One question or answer."""

    id: int
    """Its number in the history; below zero for one that is not kept there."""
    parent: int | None
    """The turn that it follows; None for the first ones."""
    role: str
    """"user" or "assistant"."""
    written: str
    """As it was asked, or as the model wrote it, thinking included."""
    status: str = "done"
    """As in the history: "done", "streaming", "stopped" or "failed"."""
    model: str = ""
    created: float = 0.0
    statistics: AnswerStatistics | None = None
    spans: tuple[StoredSpan, ...] = ()
    parameters: str = ""
    """How an answer was asked for, as the history has it."""
    parts: Parts = field(init=False)
    """What was written, divided."""

    def __post_init__(self) -> None:
        self.write(self.written)

    def write(self, written: str) -> None:
        """Replaces what was written."""
        from sssd_chat.conversation.thinking import split_thinking

        self.written = written
        is_answer = self.role == "assistant"
        self.parts = split_thinking(written) if is_answer else Parts(text=written)

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing at all."""
        return not (self.parts.text or self.parts.thinking)


class ChatTree:
    """The turns, in the order in which they were added."""

    def __init__(self) -> None:
        self._turns: dict[int, Turn] = {}
        self._following: dict[int | None, list[int]] = {}
        self.leaf: int | None = None
        """The last turn of the branch that goes on; None while there is none."""

    def __contains__(self, turn: int) -> bool:
        return turn in self._turns

    def __getitem__(self, turn: int) -> Turn:
        return self._turns[turn]

    def __iter__(self) -> Iterator[Turn]:
        return iter(self._turns.values())

    def add(self, turn: Turn) -> None:
        """Adds a turn as the newest of those that follow its parent; the branch goes on with
        it."""
        self._turns[turn.id] = turn
        self._following.setdefault(turn.parent, []).append(turn.id)
        self.leaf = turn.id

    def branch(self, leaf: int | None = None) -> list[Turn]:
        """The turns up to one, or of the branch that goes on, oldest first."""
        number = self.leaf if leaf is None else leaf
        branch: list[Turn] = []
        while number is not None:
            branch.append(self._turns[number])
            number = self._turns[number].parent
        return branch[::-1]

    def siblings(self, turn: int) -> list[int]:
        """The turns that follow the same one, itself included, oldest first."""
        return self._following[self._turns[turn].parent]

    def question_of(self, turn: int) -> Turn | None:
        """The question that an answer answers; a question itself."""
        number: int | None = turn
        while number is not None and self._turns[number].role != "user":
            number = self._turns[number].parent
        return None if number is None else self._turns[number]

    def choose(self, turn: int) -> None:
        """The chat goes on with the newest branch that the turn is part of."""
        self.leaf = self._newest_below(turn)

    def remove(self, turn: int) -> list[int]:
        """Takes out a turn and all that follow it, and returns their numbers, itself first. A
        branch that went on with them goes on beside them, or before them."""
        below = self.below(turn)
        parent = self._turns[turn].parent
        beside = self._following[parent]
        place = beside.index(turn)
        beside.remove(turn)
        for number in below:
            del self._turns[number]
            self._following.pop(number, None)
        if self.leaf in below:
            # The one before it, or else the one after.
            self.leaf = self._newest_below(beside[max(0, place - 1)]) if beside else parent
        return below

    def below(self, turn: int) -> list[int]:
        """A turn and all that follow it, itself first."""
        found = [turn]
        for number in found:
            found += self._following.get(number, [])
        return found

    def _newest_below(self, turn: int) -> int:
        order = {number: place for place, number in enumerate(self._turns)}
        return max(self.below(turn), key=order.__getitem__)
