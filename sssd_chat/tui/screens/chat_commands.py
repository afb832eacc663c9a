"""What can be typed instead of a question."""

from __future__ import annotations

import difflib

from textual import on

from sssd_chat.tui.actions import Group
from sssd_chat.tui.messages import CommandEntered, CommandUnknown
from sssd_chat.tui.screens.chat_base import ChatScreenBase
from sssd_chat.tui.slash import COMMANDS, typed_path


class CommandActions(ChatScreenBase):
    """The part of the chat screen that does what slash commands say."""

    @on(CommandEntered)
    async def _do(self, event: CommandEntered) -> None:
        command = getattr(self, f"command_{event.action.name}", None)
        if command is not None:
            command(event.argument)
        elif event.action.group is Group.EVERYWHERE:
            await self.app.run_action(event.action.name)
        else:
            await self.run_action(event.action.name)

    @on(CommandUnknown)
    def _tell_unknown(self, event: CommandUnknown) -> None:
        near = difflib.get_close_matches(event.command, COMMANDS, n=1)
        guess = f"; did you mean {near[0]}?" if near else "."
        self.notify(
            f"There is no command {event.command}{guess} With a space before it, it is asked.",
            severity="warning",
            markup=False,
        )

    def command_attach(self, path: str) -> None:
        """Lets a document go along with the next question."""
        if not path:
            self.notify("Which document? Type /attach and its path.", markup=False)
            return
        self._backend.attach(typed_path(path))

    def action_attach(self) -> None:
        """Begins the command, whose path is still to be typed."""
        self._prompt.begin("/attach ")

    def action_detach(self) -> None:
        """Lets no document go along."""
        self._backend.detach()
