"""The line below a message: what can be done with it."""

from __future__ import annotations

from collections.abc import Iterable

from textual import events
from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from sssd_chat.tui.actions import Action
from sssd_chat.tui.messages import MessageActionWanted
from sssd_chat.tui.said import Said

_META = "message_action"


class MessageFooter(Static):
    """Empty until its message is selected or the mouse is over it, so that nothing moves."""

    def __init__(self, said: Said) -> None:
        super().__init__("", markup=False, classes="actions")
        self._said = said
        self._offered = Content()

    def offer(self, actions: Iterable[tuple[Action, str]]) -> None:
        """Names the actions, each with its key; none empties the line."""
        parts = []
        for action, key in actions:
            part = Content.assemble((key, "$accent"), (f" {action.label.lower()}", "$muted"))
            parts.append(part.stylize(Style.from_meta({_META: action.name})))
        content = Content("   ").join(parts)
        if content != self._offered:
            self._offered = content
            self.update(content)

    def on_click(self, event: events.Click) -> None:
        """Does what was clicked."""
        name = event.style.meta.get(_META)
        if name is not None:
            event.stop()
            self.post_message(MessageActionWanted(self._said, name))
