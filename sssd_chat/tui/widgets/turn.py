"""What questions and answers have in common."""

from __future__ import annotations

from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from sssd_chat.text import one_line
from sssd_chat.tui.said import Said
from sssd_chat.tui.widgets.message_footer import MessageFooter


class Turn(Vertical):
    """One side's say in the conversation."""

    def __init__(self, said: Said) -> None:
        super().__init__()
        self.said = said

    @property
    def footer(self) -> MessageFooter:
        """The line for what can be done."""
        return self.query_one(MessageFooter)

    def show_branch(self) -> None:
        """Shows who speaks, and which of several branches this is."""
        self.query_one(".speaker", Static).update(self.headline())

    def headline(self) -> Content:
        """The first line."""
        speaker = one_line(self.said.speaker) if self.said.is_answer else "You"
        if not self.said.branch:
            return Content(speaker)
        return Content.assemble(speaker, "  ", (self.said.branch, "$accent not bold"))
