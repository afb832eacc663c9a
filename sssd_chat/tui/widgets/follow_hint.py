"""The hint that the answer goes on below what is read."""

from __future__ import annotations

from textual.widgets import Static

from sssd_chat.tui.messages import FollowRequested


class FollowHint(Static):
    """Shown over the transcript while its end is out of view."""

    def __init__(self) -> None:
        super().__init__("↓ more below · ctrl+end", markup=False)

    def on_click(self) -> None:
        """Goes to the end."""
        self.post_message(FollowRequested())
