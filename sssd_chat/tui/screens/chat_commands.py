"""What can be typed instead of a question."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from textual import on, work

from sssd_chat.conversation.events import (
    AnswerParameters,
    ChatBackend,
    ChatOpened,
    Event,
    TitleChanged,
    VerifyDone,
    VerifyRunning,
)
from sssd_chat.errors import UserError
from sssd_chat.text import for_display, one_line
from sssd_chat.tui.actions import Group
from sssd_chat.tui.exporting import export_wanted, write_export
from sssd_chat.tui.messages import CommandEntered, CommandUnknown
from sssd_chat.tui.parameters import changed, described
from sssd_chat.tui.screens.chat_base import ChatScreenBase
from sssd_chat.tui.slash import COMMANDS, typed_path

_NONE = "none"
"""The word that takes the system prompt away."""


class CommandActions(ChatScreenBase):
    """The part of the chat screen that does what slash commands say."""

    def __init__(self, backend: ChatBackend) -> None:
        super().__init__(backend)
        self._open_chat: int | None = None
        self._title = ""
        self._system = ""
        self._parameters = AnswerParameters()
        self._verifying = False

    # What the engine tells

    async def take(self, event: Event) -> None:
        """What belongs to the chat and not to a message of it."""
        match event:
            case ChatOpened(chat=chat, title=title, system=system, parameters=parameters):
                self._open_chat, self._system, self._parameters = chat, system, parameters
                self._name_chat(title)
            case TitleChanged(chat, title):
                self._open_chat = chat
                self._name_chat(title)
            case VerifyRunning(done, total):
                self._show_verifying(f"replaying without drafts: {done:,} of {total:,} tokens")
            case VerifyDone(ok, summary):
                self._verifying = False
                self._show_verifying("")
                self.notify(
                    for_display(summary),
                    title="The answer, replayed without drafts",
                    severity="information" if ok else "warning",
                    timeout=15,
                    markup=False,
                )
                self.refresh_bindings()
            case _:
                pass
        await super().take(event)

    def _name_chat(self, title: str) -> None:
        """The terminal is called after the chat."""
        self._title = title
        self.app.title = f"{one_line(title)} – sssd-chat" if title else "sssd-chat"

    def _show_verifying(self, text: str) -> None:
        self._prompt_note = text
        self.show_prompt_title()

    # What the user types

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
        self._warn(
            f"There is no command {event.command}{guess} With a space before it, it is asked."
        )

    def _say(self, text: str) -> None:
        self.notify(for_display(text), markup=False)

    def _warn(self, text: str) -> None:
        self.notify(for_display(text), severity="warning", markup=False)

    # Documents

    def command_attach(self, path: str) -> None:
        """Lets a document go along with the next question."""
        if not path:
            self._say("Which document? Type /attach and its path.")
            return
        self._backend.attach(typed_path(path))

    def action_attach(self) -> None:
        """Begins the command, whose path is still to be typed."""
        self._prompt.begin("/attach ")

    def action_detach(self) -> None:
        """Lets no document go along."""
        self._backend.detach()

    # How answers are written

    def command_set_system(self, text: str) -> None:
        """Sets the system prompt of this chat, or puts it into the prompt to be changed."""
        if not text:
            self.action_set_system()
            return
        self._system = "" if text == _NONE else text
        self._backend.set_system(self._system)
        what = "The system prompt is set" if self._system else "No system prompt"
        self._say(f"{what} from the next question on.")

    def action_set_system(self) -> None:
        """Begins the command with the system prompt as it is."""
        self._prompt.put(f"/system {self._system}")
        if not self._system:
            self._say("This chat has no system prompt; type one.")

    def command_set_parameters(self, words: str) -> None:
        """Sets parameters of the next answers, or says how they are."""
        if not words:
            now = described(self._parameters) or "all as the settings say"
            self._say(f"Answers of this chat: {now}. /params temperature=0.2 changes one.")
            return
        try:
            self._parameters = changed(self._parameters, words)
        except UserError as error:
            self._warn(str(error))
            # To be corrected, not typed again.
            self._prompt.put(f"/params {words}")
            return
        self._backend.set_parameters(self._parameters)
        self._say(f"From the next answer on: {described(self._parameters) or 'as the settings'}.")

    def action_set_parameters(self) -> None:
        """Begins the command with the parameters as they are."""
        self._prompt.put(f"/params {described(self._parameters)}")

    # The chat

    def command_rename_chat(self, title: str) -> None:
        """Gives this chat another title."""
        if not title:
            self.action_rename_chat()
            return
        chat = self._open_chat
        if chat is None:
            self._warn("This chat is not kept yet; ask something first.")
            return
        self._in_thread(lambda: self._services.library.rename(chat, title), self._name_chat)

    def action_rename_chat(self) -> None:
        """Begins the command with the title as it is."""
        self._prompt.put(f"/rename {self._title}")

    def command_export_chat(self, words: str) -> None:
        """Writes this chat into a file."""
        chat = self._open_chat
        if chat is None:
            self._warn("There is nothing to export: this chat is not kept yet.")
            return
        try:
            export = export_wanted(words, self._title)
        except UserError as error:
            self._warn(str(error))
            return

        def write() -> str:
            write_export(export, self._services.library.export(chat, export.form))
            return f"The chat is in {export.path}."

        self._in_thread(write, self._say)

    def action_export_chat(self) -> None:
        """Begins the command, whose file is still to be typed."""
        self._prompt.begin("/export ")

    def action_verify(self) -> None:
        """Replays the last answer without drafts and compares."""
        if self._state.busy:
            self._say("An answer is on its way; verify it when it is finished.")
            return
        self._verifying = True
        self._show_verifying("replaying without drafts")
        self._backend.verify()
        self.refresh_bindings()

    @work(thread=True, exit_on_error=False)
    def _in_thread(self, work: Callable[[], str], then: Callable[[str], None]) -> None:
        """Does what waits for the disk, then tells its result, or what is wrong."""
        try:
            result = work()
        except UserError as error:
            self.app.call_from_thread(self._warn, str(error))
        else:
            self.app.call_from_thread(then, result)
