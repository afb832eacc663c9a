"""What questions and answers have in common."""

from __future__ import annotations

from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from sssd_chat.text import one_line
from sssd_chat.tui.said import Said
from sssd_chat.tui.widgets.growing import GrowingColumn
from sssd_chat.tui.widgets.message_footer import MessageFooter

_SELECTED = "-selected"


class Turn(Vertical, GrowingColumn):
    """One side's say in the conversation."""

    def __init__(self, said: Said) -> None:
        super().__init__()
        self.said = said
        self.footer = MessageFooter(said)
        self._speaker = Static(self.headline(), classes="speaker", markup=False)

    def show_branch(self) -> None:
        """Shows who speaks, and which of several branches this is."""
        self._speaker.update(self.headline())

    def mark(self, selected: bool) -> None:
        """Shows whether it is the selected one."""
        if selected != self.has_class(_SELECTED):
            self.set_class(selected, _SELECTED, update=False)
            # The styles of all blocks of a long answer would take a while to work out.
            bodies = self.query_children(".body").results(Widget)
            self.app.stylesheet.update_nodes([self, self._speaker, *bodies, self.footer])

    def headline(self) -> Content:
        """The first line."""
        speaker = one_line(self.said.speaker) if self.said.is_answer else "You"
        if not self.said.branch:
            return Content(speaker)
        return Content.assemble(speaker, "  ", (self.said.branch, "$accent not bold"))
