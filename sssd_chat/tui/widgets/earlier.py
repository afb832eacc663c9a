"""The line on top of a long transcript."""

from __future__ import annotations

from textual.widgets import Static

from sssd_chat.text import counted


class Earlier(Static):
    """Stands for the turns that are not shown until the reader comes near."""

    def __init__(self) -> None:
        super().__init__("", markup=False)
        self.display = False

    def stand_for(self, turns: int) -> None:
        """Says how many turns there are above; disappears with the last one."""
        self.display = turns > 0
        self.update(f"↑ {counted(turns, 'earlier message')} · pageup, ctrl+home")
