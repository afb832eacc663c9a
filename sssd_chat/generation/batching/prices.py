"""What tokens cost in the batch of a step: roots, drafted nodes, and parts of prompts."""

from __future__ import annotations

from collections.abc import Sequence

from sssd_chat.generation.cost import StepCost

_LEARNING_RATE = 0.2
_MANY = 64
"""Over so many tokens the steps of the measured staircase level out."""


class Prices:
    """By the measured time of batches that are written, and of tokens that are read beside."""

    def __init__(self, cost: StepCost) -> None:
        """`cost` is learned elsewhere."""
        self._cost = cost
        self.read_seconds: float | None = None
        """Time of a token that is read in a batch; None while unknown."""

    def seconds(self, context: int, writers: int, reads: bool) -> Sequence[float]:
        """The time that is written takes in a batch after `context` tokens, by the number of roots
        and nodes; index `writers` is a step without drafts. `reads` tells whether prompts are read
        beside."""
        seconds = self._cost.seconds(context)
        if not reads or not writers:
            return seconds
        return beside_reads(seconds, writers, self.read_seconds or 0.0)

    def worth(
        self, seconds: Sequence[float], context: int, writers: int, live: int
    ) -> Sequence[float]:
        """What `seconds`, the time of a batch, is to be reckoned as where drafts are chosen. A
        token that is not drafted now is written later, and then all of the `live` sequences write:
        it will cost what it does in their batch, if that is less than among few writers."""
        among_all = writers * self._cost.seconds(context)[live] / live
        less = max(0.0, seconds[writers] - among_all)
        return [time - less for time in seconds] if less else seconds

    def learn_reading(self, tokens: int, seconds: float) -> None:
        """Reading so many tokens made a batch so many seconds longer."""
        each = max(0.0, seconds) / tokens
        known = self.read_seconds
        if known is None:
            # Never 0, should the clock say so: what may be read in a step is divided by it.
            self.read_seconds = max(each, 1e-9)
        else:
            self.read_seconds = known + _LEARNING_RATE * (min(each, 3 * known) - known)


def beside_reads(seconds: Sequence[float], writers: int, read_seconds: float) -> list[float]:
    """The time of what is written in a batch, at least one root, beside prompts that are read: by
    the number of roots and nodes, `seconds` being that without reads.

    The batch is large, so no place in it is free, and a node costs what it does on average in such
    ones. That is more than a read token takes, `read_seconds`, since its logits are wanted.
    """
    largest = min(len(seconds) - 1, writers + _MANY)
    each = read_seconds
    if largest > writers:
        each = max(each, (seconds[largest] - seconds[writers]) / (largest - writers))
    more = (seconds[writers] + each * n for n in range(1, len(seconds) - writers))
    return [*seconds[: writers + 1], *more]
