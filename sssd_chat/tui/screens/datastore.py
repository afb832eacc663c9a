"""The datastore: its collections, what each saved, and how the speed grew."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, ClassVar

from textual import events, on, work
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from sssd_chat.conversation.events import WeekSpeed
from sssd_chat.errors import UserError
from sssd_chat.text import counted
from sssd_chat.tui.actions import DATASTORE_ACTIONS, LIST_ACTIONS
from sssd_chat.tui.figures import duration, short_count, size
from sssd_chat.tui.screens.datastore_rows import collection_rows
from sssd_chat.tui.screens.forgetting_screen import ForgettingScreen
from sssd_chat.tui.speed_curve import speed_curve

if TYPE_CHECKING:
    from sssd_chat.conversation.datastore_library import CollectionEntry, DatastoreLibrary

CHATS = "chats"
"""The screen is left with this to see the chats themselves."""
_HEIGHTS = [(0, "-low"), (22, "-middle"), (36, "-high")]
_NOTHING = (
    "Nothing to draft from yet.\n\nIt fills as you chat; f3 imports files and folders of your own."
)
_NONE_FOUND = "No collection has all of these words in its name."


class SpeedCurve(Widget):
    """The speed-up of each week, as large as there is room."""

    def __init__(self) -> None:
        super().__init__()
        self.border_title = " Speed-up over plain decoding, by week "
        self._weeks: tuple[WeekSpeed, ...] = ()

    def show(self, weeks: tuple[WeekSpeed, ...]) -> None:
        """Draws these weeks."""
        self._weeks = weeks
        self.refresh()

    def render(self) -> Content:
        """The plot with its axes."""
        width, height = self.content_size
        return Content("\n").join(speed_curve(self._weeks, max(10, width), max(2, height)))


class DatastoreScreen(ForgettingScreen):
    """Dismissed with CHATS when the chats are to be shown, or with None."""

    CSS_PATH: ClassVar[list[str | PurePath]] = ["list_screen.tcss", "datastore.tcss"]
    ACTIONS = (*DATASTORE_ACTIONS, *LIST_ACTIONS)
    headline = "Datastore"
    placeholder = "Narrow down by name"
    VERTICAL_BREAKPOINTS = _HEIGHTS

    @dataclass
    class Read(Message):
        """What the datastore holds."""

        entries: list[CollectionEntry]
        weeks: tuple[WeekSpeed, ...]

    def __init__(self, library: DatastoreLibrary, open_import: Callable[[], None] | None) -> None:
        """`open_import` shows the import; None where nothing can be imported now."""
        super().__init__()
        self._library = library
        self._open_import = open_import
        self._entries: list[CollectionEntry] = []
        self._curve = SpeedCurve()

    def compose_below(self) -> ComposeResult:
        """The curve."""
        yield self._curve

    @on(events.ScreenResume)
    def read_rows(self) -> None:
        """Reads the collections, at the start and when another screen was left: an import may have
        changed them."""
        self._read()

    @work(thread=True, exclusive=True, group="find", exit_on_error=False)
    def _read(self) -> None:
        try:
            entries = self._library.collections()
            self.post_message(self.Read(entries, self._library.speed_curve()))
        except UserError as error:
            self.post_message(self.Failed(str(error)))

    @on(Read)
    def _show_read(self, event: Read) -> None:
        self._entries = event.entries
        self._curve.show(event.weeks)
        self.look_for(self.typed)

    def look_for(self, typed: str) -> None:
        """Shows the collections whose names hold the words."""
        rows = collection_rows(self._entries, typed)
        self.show_rows(rows, None, _NONE_FOUND if self._entries else _NOTHING)
        facts = (
            counted(len(self._entries), "collection"),
            f"{short_count(sum(entry.tokens for entry in self._entries))} tokens",
            size(sum(entry.bytes for entry in self._entries)),
            f"{duration(sum(entry.saved_seconds for entry in self._entries))} saved",
        )
        self.summarize(" · ".join(facts) if self._entries else "")

    def choose(self, key: Hashable) -> None:
        """Shows what the collection holds."""
        entry = next((entry for entry in self._entries if entry.name == key), None)
        if entry is None:
            return
        if entry.kind == CHATS:
            self.dismiss(CHATS)
        elif entry.kind == "imported":
            from sssd_chat.tui.screens.documents import DocumentsScreen

            self.app.push_screen(DocumentsScreen(self._library, entry.name))
        else:
            self.tell("This collection came with the program; its documents have no names.")

    def action_forget_entry(self) -> None:
        """Forgets the collection under the cursor, if the user agrees."""
        self.with_row(self._forget_collection)

    def _forget_collection(self) -> None:
        entry = next((entry for entry in self._entries if entry.name == self.rows.key), None)
        if entry is None:
            return
        if entry.kind == CHATS:
            self.tell("Chats are forgotten one by one: enter shows them.")
            return
        what = f"the collection {entry.name} with {counted(entry.documents, 'document')}"
        self.ask_to_forget(
            entry.name,
            what,
            lambda progress: self._library.forget_collection(entry.name, progress),
        )

    def action_import_here(self) -> None:
        """Imports files and folders."""
        if self._open_import is not None:
            self._open_import()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Nothing can be imported without a model."""
        if action == "import_here" and self._open_import is None:
            return None
        return super().check_action(action, parameters)
