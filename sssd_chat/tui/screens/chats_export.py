"""Writing a chat to a file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Button, Input, RadioButton, RadioSet, Static

from sssd_chat.errors import UserError
from sssd_chat.text import for_display, one_line
from sssd_chat.tui.exporting import Export, write_export
from sssd_chat.tui.screens.window import Window

if TYPE_CHECKING:
    from sssd_chat.conversation.chat_library import ChatEntry, ChatLibrary

_FORMATS = (
    ("md", "Markdown, for people", ".md"),
    ("json", "JSON with all branches, to import again", ".json"),
    ("sharegpt", "ShareGPT, for other programs", ".sharegpt.json"),
)
_LONGEST_NAME = 60


class ExportScreen(Window[Path | None]):
    """Asks for a format and a file; dismissed with the file that was written."""

    CSS_PATH = "chats_export.tcss"
    AUTO_FOCUS = "#path"

    @dataclass
    class Failed(Message):
        """The file is not written."""

        problem: str
        exists: bool
        """Whether there is such a file, which can be overwritten."""

    def __init__(self, library: ChatLibrary, entry: ChatEntry) -> None:
        super().__init__()
        self._library = library
        self._entry = entry
        self._overwrites = ""
        """The path of which the user knows that it exists."""

    def compose(self) -> ComposeResult:
        """A format, a path, and buttons."""
        with Vertical() as box:
            box.border_title = "Export the chat"
            box.border_subtitle = self.way_out
            yield Static(one_line(self._entry.title), classes="label", markup=False)
            with RadioSet(id="format", compact=True):
                for number, (_, title, _) in enumerate(_FORMATS):
                    yield RadioButton(title, number == 0, compact=True)
            yield Input(str(_place(self._entry.title, ".md")), id="path", compact=True)
            yield Static(id="problem", markup=False)
            with Horizontal():
                yield Button("Export", id="export", variant="primary", compact=True)
                yield Button("Cancel", id="cancel", compact=True)

    @on(RadioSet.Changed)
    def _follow_format(self, event: RadioSet.Changed) -> None:
        """Gives the file the suffix of the format, unless the user took another name."""
        field = self.query_one("#path", Input)
        if Path(field.value) in {_place(self._entry.title, suffix) for *_, suffix in _FORMATS}:
            field.value = str(_place(self._entry.title, _FORMATS[event.index][2]))

    @on(Button.Pressed, "#export")
    @on(Input.Submitted, "#path")
    def _export(self) -> None:
        path = self.query_one("#path", Input).value.strip()
        index = self.query_one("#format", RadioSet).pressed_index
        if path:
            self._write(path, _FORMATS[max(0, index)][0], path == self._overwrites)

    @on(Button.Pressed, "#cancel")
    def _cancel(self) -> None:
        self.dismiss(None)

    @work(thread=True, exclusive=True, exit_on_error=False)
    def _write(self, typed: str, form: str, overwrites: bool) -> None:
        try:
            path = Path(typed).expanduser().absolute()
            if path.exists() and not overwrites:
                self.post_message(self.Failed(f"{path} exists already.", True))
                return
            text = self._library.export(self._entry.id, form)
            write_export(Export(path, form, may_replace=overwrites), text)
        except UserError as error:
            self.post_message(self.Failed(str(error), False))
        except (OSError, RuntimeError, ValueError) as error:
            # A "~user" that nobody knows, or what cannot be a path.
            self.post_message(self.Failed(f"{typed} cannot be written: {error}.", False))
        else:
            self.app.call_from_thread(self.dismiss, path)

    @on(Failed)
    def _show_problem(self, event: Failed) -> None:
        again = " Export once more to overwrite it." if event.exists else ""
        self._overwrites = self.query_one("#path", Input).value.strip() if event.exists else ""
        self.query_one("#problem", Static).update(for_display(event.problem + again))


def _place(title: str, suffix: str) -> Path:
    """A file of the name of the chat in the folder where the program was started."""
    name = re.sub(r"[^\w\- ]+", "", one_line(title)).strip()[:_LONGEST_NAME].strip() or "chat"
    return Path.cwd() / f"{name}{suffix}"
