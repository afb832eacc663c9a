"""Which messages show what can be done with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sssd_chat.tui.actions import Action
from sssd_chat.tui.said import Said
from sssd_chat.tui.widgets.turn import Turn

Offers = Callable[[Said], Iterable[tuple[Action, str]]]
"""The actions for a message, each with its key."""


class MessageSelection:
    """The selected message, and the one under the mouse. Both name their actions."""

    def __init__(self, offers: Offers) -> None:
        self._offers = offers
        self.said: Said | None = None
        """The selected one; None outside the message mode."""
        self.span: int | None = None
        """The number of the drafted span of it that is looked at."""
        self._hovered: Turn | None = None

    def choose(self, said: Said | None, span: int | None = None) -> None:
        """Selects another message, or none."""
        self.said, self.span = said, span

    def hover(self, turn: Turn | None) -> None:
        """The mouse is over this message now, or over none."""
        before, self._hovered = self._hovered, turn
        for one in {before, turn} - {None}:
            if one is not None and one.is_attached:
                self._mark(one)

    def show(self, turns: Iterable[Turn]) -> None:
        """Marks the messages and names their actions anew."""
        for turn in turns:
            self._mark(turn)

    def _mark(self, turn: Turn) -> None:
        selected = turn.said is self.said
        turn.mark(selected)
        offered = selected or turn is self._hovered
        turn.footer.offer(self._offers(turn.said) if offered else ())
