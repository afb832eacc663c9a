"""What a typed command may go on with, above the prompt."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from sssd_chat.text import columns, one_line
from sssd_chat.tui.completion import Suggestion, Suggestions

_WIDEST_LABEL = 32
_GAP = 3


class SuggestionList(OptionList, can_focus=False):
    """A list that the prompt leads, which keeps the focus."""

    def __init__(self) -> None:
        super().__init__(compact=True)
        self._items: tuple[Suggestion, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether there is something to take."""
        return bool(self._items)

    def offer(self, suggestions: Suggestions) -> None:
        """Shows these, or nothing when there are none."""
        self._items = suggestions.items
        self.clear_options()
        width = max((columns(item.label) for item in self._items), default=0)
        width = min(width, _WIDEST_LABEL) + _GAP
        self.add_options(Option(_line(item, width)) for item in self._items)
        self.highlighted = 0 if self._items and suggestions.first_is_meant else None
        self.set_class(self.is_open, "-shown")

    def close(self) -> None:
        """Shows nothing."""
        self.offer(Suggestions())

    def move(self, step: int) -> None:
        """Goes to the next one (1), or the one before (-1), from end to end."""
        last = len(self._items) - 1
        here = self.highlighted
        self.highlighted = (0 if step > 0 else last) if here is None else (here + step) % (last + 1)

    @property
    def marked(self) -> Suggestion | None:
        """The one that Enter takes."""
        return None if self.highlighted is None else self._items[self.highlighted]

    @property
    def nearest(self) -> Suggestion | None:
        """The one that Tab takes."""
        return self.marked or (self._items[0] if self._items else None)

    def at(self, place: int) -> Suggestion:
        """The one of a line."""
        return self._items[place]


def _line(item: Suggestion, width: int) -> Content:
    label = one_line(item.label)
    gap = " " * max(_GAP, width - columns(label))
    return Content.assemble((label, "bold"), gap, one_line(item.help))
