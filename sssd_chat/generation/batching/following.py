"""Texts that begin alike are read once: who comes later waits for who reads already.

Without that, a burst of requests with one long beginning (a system prompt, a document) would read
it as often as there are requests, each as slowly as all together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

from sssd_chat.generation.batching.composing import LiveSequence
from sssd_chat.generation.batching.slots import Slots, common_beginning
from sssd_chat.generation.target import State


class Following(Generic[State]):
    """Decides who waits for whom. Nobody waits longer than reading would take: the one that is
    waited for began earlier, and has the part of each step that the other one does not use."""

    def __init__(self, slots: Slots[State], least: int | None) -> None:
        """Fewer tokens than `least` are not worth waiting for; None where texts cannot share."""
        self._slots = slots
        self._least = least

    def begin(self, sequence: LiveSequence[State], live: Sequence[LiveSequence[State]]) -> None:
        """Lets a sequence wait where another one is reading what it would read, and enough of it.
        That one had its place before, so that no two wait for each other."""
        sequence.leader = None
        if self._least is None:
            return
        longest = len(sequence.conversation.state.tokens) + self._least - 1
        for other in live:
            if other.order < sequence.order and other.unread:
                length = common_beginning(other.text, sequence.text, sequence.most_shared)
                if length > longest and length > len(other.conversation.state.tokens):
                    longest = length
                    sequence.leader, sequence.led = other, length

    def catch_up(
        self, live: Sequence[LiveSequence[State]]
    ) -> list[tuple[LiveSequence[State], int]]:
        """Gives those whose waiting is over what was read for them: also where the one that they
        waited for is gone, whose text is mostly still there. Returns them with the tokens that they
        got; another one may be waited for now."""
        over = []
        for sequence in live:
            if (leader := sequence.leader) is None:
                continue
            if len(leader.conversation.state.tokens) < sequence.led and leader in live:
                continue
            got = self._slots.share(sequence.conversation, sequence.text, sequence.most_shared)
            self.begin(sequence, live)
            over.append((sequence, got))
        return over
