"""What looking for drafts costs, and who looks in a step.

While one sequence looks for a draft, all of a batch wait. The more there are, the less a token is
worth (a step gives as many of them at least), but a look takes as long as ever: on a machine whose
steps are short it soon takes more than it can gain. So its measured time counts, in whether a
sequence looks and in how far.
"""

from __future__ import annotations

from collections.abc import Sequence

from sssd_chat.generation.guard import DraftGuard

_SHARE = 0.03
"""Share of a plain step that may go into looking where it has not paid lately."""
_DECAY = 1.0 - 1.0 / 256.0
"""Weight of the past, a look."""
_OUTLIER = 4.0
"""A look so many times as long as usual (another program had the processor) counts as that long."""
_FEW = 8.0
"""With fewer looks it is not known what is usual."""


class Looking:
    """Learns from each look: the time of all of it, and what a node more takes."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._looks = 0.0
        self._nodes = 0.0
        self._seconds = 0.0
        self._squares = 0.0
        self._products = 0.0
        """Decayed sums over the looks: of one, nodes, seconds, nodes squared, and nodes times
        seconds."""
        self._learning = 0.0
        """The same of the seconds that learning took after it."""
        self._credit = 0.0
        """Seconds that may go into looks that have not paid lately."""
        self._turn = 0
        """Looks given out; of those that have waited equally long, each is once the first."""

    def observe(
        self, nodes: int, seconds: float, learning: float = 0.0, *, paid: bool = False
    ) -> None:
        """A look gave a draft of so many nodes in `seconds`; learning from the step it was for took
        `learning`. `paid` tells whether looks of that sequence pay."""
        if not paid:
            # One that was interrupted for long shall not be the last one for long.
            self._credit -= min(seconds + learning, 4.0 * _OUTLIER * (self.seconds or seconds))
        if self._looks >= _FEW:
            seconds = min(seconds, _OUTLIER * self._seconds / self._looks)
            learning = min(learning, _OUTLIER * self._learning / self._looks)
        self._looks = _DECAY * self._looks + 1.0
        self._nodes = _DECAY * self._nodes + nodes
        self._seconds = _DECAY * self._seconds + seconds
        self._squares = _DECAY * self._squares + nodes * nodes
        self._products = _DECAY * self._products + nodes * seconds
        self._learning = _DECAY * self._learning + learning

    @property
    def seconds(self) -> float:
        """Time of a look, learning included; 0 while unknown."""
        return (self._seconds + self._learning) / self._looks if self._looks else 0.0

    @property
    def seconds_of_node(self) -> float:
        """What a node more takes: the slope of the line through all looks; 0 while unknown."""
        spread = self._looks * self._squares - self._nodes * self._nodes
        if spread <= 1e-9 * self._looks * self._squares or self._looks < _FEW:
            return 0.0
        return max(0.0, (self._looks * self._products - self._nodes * self._seconds) / spread)

    def floor(self, token_seconds: float) -> float:
        """The probability under which finding a node takes longer than it saves, where a token
        takes `token_seconds`."""
        return self.seconds_of_node / token_seconds

    def choose(self, guards: Sequence[DraftGuard], plain_seconds: float) -> list[bool]:
        """Which of the sequences look in a step that takes `plain_seconds` without drafts: all
        whose looks paid lately, and of the others as many as a small part of the steps has time
        for, those first that have waited longest."""
        looks = [guard.pays for guard in guards]
        others = [number for number, paid in enumerate(looks) if not paid]
        for number in self._affordable(others, guards, plain_seconds):
            looks[number] = True
        return looks

    def _affordable(
        self, others: list[int], guards: Sequence[DraftGuard], plain_seconds: float
    ) -> list[int]:
        each, more = self.seconds, _SHARE * plain_seconds
        if not each:
            return others[: int(_FEW)]
        if more >= each * len(others):
            return others
        # What one step has no time for, several have; but no longer pauses are made up for.
        self._credit = min(self._credit, each) + more
        room = max(0, int(self._credit / each))
        self._turn += room
        turns = others[self._turn % len(others) :] + others[: self._turn % len(others)]
        return sorted(turns, key=lambda number: -guards[number].waited)[:room]
