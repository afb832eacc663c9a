"""The panel by itself, where the terminal has no room for it beside the chat."""

from __future__ import annotations

from pathlib import PurePath
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import VerticalScroll

from sssd_chat.tui.chat_state import ChatState
from sssd_chat.tui.screens.window import ReadingWindow
from sssd_chat.tui.widgets.panel import LivePanel


class NumbersScreen(ReadingWindow):
    """Every section of the panel, over the chat that goes on; scrolled where it is low."""

    CSS_PATH: ClassVar[list[str | PurePath]] = ["chat_panel.tcss", "numbers.tcss"]
    OPENED_BY = ("toggle_panel",)

    def __init__(self, state: ChatState) -> None:
        super().__init__()
        self._panel = LivePanel(state)

    def compose(self) -> ComposeResult:
        """The panel in a box as large as the screen."""
        with VerticalScroll() as box:
            box.border_title = "Numbers"
            box.border_subtitle = self.way_out
            yield self._panel

    def show(self) -> None:
        """Draws the state as it is now."""
        if self.is_mounted:
            self._panel.show()
