"""The list of all chats: finding, opening, renaming, forking, exporting and deleting."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widgets import Input

from sssd_chat.errors import UserError
from sssd_chat.text import counted, for_display, one_line
from sssd_chat.tui.actions import CHATS_ACTIONS, LIST_ACTIONS, action_called
from sssd_chat.tui.deletions import Deletions
from sssd_chat.tui.keymap import keymap_of_app
from sssd_chat.tui.screens.chats_rows import chat_rows, without
from sssd_chat.tui.screens.list_screen import ListScreen
from sssd_chat.tui.widgets.row_list import Row

if TYPE_CHECKING:
    from sssd_chat.conversation.chat_library import ChatEntry, ChatLibrary

_FIRST_PAGE = 100
"""So many chats are shown before the others are read."""
_FOUND_MOST = 200
_ON_CHATS = frozenset({"choose_row", "rename_row", "fork_row", "export_row", "delete_row"})
_NONE_KEPT = "No chat is kept yet.\n\nAsk something: every chat is kept here, and can be searched."
_NONE_FOUND = 'No chat holds all of these words.\n\nWhat stands "in quotes" is looked for whole.'


class ChatsScreen(ListScreen[int | None]):
    """Dismissed with the number of the chat to open, or with None."""

    CSS_PATH: ClassVar[list[str | PurePath]] = ["list_screen.tcss", "chats.tcss"]
    ACTIONS = (*CHATS_ACTIONS, *LIST_ACTIONS)
    headline = "Chats"
    placeholder = "Search the text of all chats"

    @dataclass
    class Found(Message):
        """Chats that were read, in the order of the list."""

        typed: str
        entries: list[ChatEntry]
        rows: list[Row]
        has_more: bool = False
        """Whether more of them are still being read."""
        cursor: int | None = None
        """The chat to put the cursor on."""

    @dataclass
    class Failed(Message):
        """Something could not be done."""

        problem: str

    @dataclass
    class Told(Message):
        """Something was done that the list does not show."""

        text: str

    def __init__(
        self,
        library: ChatLibrary,
        current: int | None,
        deletions: Deletions,
        on_current_deleted: Callable[[], None],
    ) -> None:
        """`current` is the open chat; `on_current_deleted` is called when it goes."""
        super().__init__()
        self._library = library
        self._current = current
        self._deletions = deletions
        self._on_current_deleted = on_current_deleted
        self._field = Input(id="rename", compact=True)
        self._entries: dict[int, ChatEntry] = {}
        self._rows: list[Row] = []
        self._undo_key = keymap_of_app(self.app).shown(action_called("undo_delete"))

    def compose(self) -> ComposeResult:
        """The list, and the field that lies over a row while it is renamed."""
        yield from super().compose()
        yield self._field

    def on_mount(self) -> None:
        """Reads the chats."""
        self._deletions.watch(self._show_deletion)
        self._show_deletion()
        self._find("", self._current)

    def on_unmount(self) -> None:
        """The time to undo goes on without the list."""
        self._deletions.watch(lambda: None)

    # Finding

    def look_for(self, typed: str) -> None:
        """Shows the chats that hold the words, or all of them."""
        self._find(typed)

    @work(thread=True, exclusive=True, group="find", exit_on_error=False)
    def _find(self, typed: str, cursor: int | None = None) -> None:
        try:
            if typed:
                self._found(typed, self._library.search(typed, _FOUND_MOST), cursor)
                return
            first = self._library.list(_FIRST_PAGE + 1)
            has_more = len(first) > _FIRST_PAGE
            self._found(typed, first[:_FIRST_PAGE], cursor, has_more)
            if has_more:
                self._found(typed, self._library.list(), cursor)
        except UserError as error:
            self.post_message(self.Failed(str(error)))

    def _found(
        self, typed: str, entries: list[ChatEntry], cursor: int | None, has_more: bool = False
    ) -> None:
        """Tells the screen, from the thread that reads: for many chats this takes a while."""
        from sssd_chat.conversation.chat_library import by_day

        now = time.time()
        rows = chat_rows(by_day(entries, now), self._current, datetime.fromtimestamp(now).date())
        self.post_message(self.Found(typed, entries, rows, has_more, cursor))

    @on(Found)
    def _show_found(self, event: Found) -> None:
        if event.typed != self.typed:
            return
        self._entries = {entry.id: entry for entry in event.entries}
        self._rows = event.rows
        self._show_rows(event.cursor, event.has_more)

    def _show_rows(self, cursor: int | None = None, has_more: bool = False) -> None:
        self.show_rows(self._rows, cursor, _NONE_FOUND if self.typed else _NONE_KEPT)
        many = sum(row.key is not None for row in self._rows)
        if self.typed:
            most = " or more" if many == _FOUND_MOST else ""
            self.summarize(f"found in {many:,}{most}" if many else "nothing found")
        else:
            self.summarize("reading …" if has_more else counted(many, "chat"))

    @on(Failed)
    def _show_problem(self, event: Failed) -> None:
        self.give_up_waiting()
        self.tell(event.problem, is_problem=True)

    @on(Told)
    def _show_told(self, event: Told) -> None:
        self.tell(event.text)

    @property
    def _entry(self) -> ChatEntry | None:
        """The chat under the cursor."""
        key = self.rows.key
        return self._entries.get(key) if isinstance(key, int) else None

    def choose(self, key: Hashable) -> None:
        """Opens the chat."""
        if isinstance(key, int):
            self.dismiss(key)

    # Renaming

    @property
    def _renames(self) -> bool:
        return self._field.has_class("-shown")

    def action_rename_row(self) -> None:
        """Lets the title be edited in its row."""
        self.with_row(self._begin_renaming)

    def _begin_renaming(self) -> None:
        entry, field = self._entry, self._field
        if entry is None:
            return
        place = self.rows.region_of_cursor().translate(self.rows.content_region.offset)
        field.styles.offset = (place.x + 2, place.y)
        field.styles.width = max(12, place.width - 2)
        field.value = one_line(entry.title)
        field.add_class("-shown")
        field.focus()
        self.tell("Enter keeps the title, esc leaves it as it was.")
        self.refresh_bindings()

    @on(Input.Submitted, "#rename")
    def _rename(self, event: Input.Submitted) -> None:
        entry, title = self._entry, event.value
        self._end_renaming()
        if entry is not None and title.strip() != one_line(entry.title):
            self._change(entry.id, lambda: self._library.rename(entry.id, title))

    @on(Input.Blurred, "#rename")
    def _end_renaming(self) -> None:
        if self._renames:
            self._field.remove_class("-shown")
            self.query_one("#typed").focus()
            self._show_deletion()

    def action_leave_list(self) -> None:
        """Gives up renaming, takes back what was typed, or closes the screen."""
        if self._renames:
            self._end_renaming()
        else:
            super().action_leave_list()

    # Forking, exporting, deleting

    @work(thread=True, group="change", exit_on_error=False)
    def _change(self, cursor: int | None, change: Callable[[], object]) -> None:
        """Changes something, and reads the list anew with the cursor on a chat."""
        try:
            result = change()
        except UserError as error:
            self.post_message(self.Failed(str(error)))
            return
        if cursor is None and isinstance(result, int):
            cursor = result
        self.app.call_from_thread(self._find, self.typed, cursor)

    def action_fork_row(self) -> None:
        """Makes a copy of the chat."""
        self.with_row(self._fork)

    def _fork(self) -> None:
        entry = self._entry
        if entry is not None:
            self._change(None, lambda: self._forked(entry))

    def _forked(self, entry: ChatEntry) -> int:
        new = self._library.fork(entry.id)
        self.post_message(self.Told(f"⑂ “{one_line(entry.title)}” has a copy now."))
        return new

    def action_export_row(self) -> None:
        """Asks for a file, and writes the chat to it."""
        self.with_row(self._export)

    @work
    async def _export(self) -> None:
        from sssd_chat.tui.screens.chats_export import ExportScreen

        entry = self._entry
        if entry is None:
            return
        written = await self.app.push_screen_wait(ExportScreen(self._library, entry))
        if written is not None:
            self.tell(f"“{one_line(entry.title)}” is exported to {written}.")

    def action_delete_row(self) -> None:
        """Takes the chat off the list; for good when the time to undo is over."""
        self.with_row(self._delete)

    def _delete(self) -> None:
        entry = self._entry
        if entry is None:
            return
        if entry.id == self._current:
            self._current = None
            self._on_current_deleted()
        self._deletions.add(self._library.delete([entry.id]), one_line(entry.title))
        self._rows = without(self._rows, entry.id)
        self._show_rows()

    def action_undo_delete(self) -> None:
        """Brings back what was deleted last."""
        chats = self._deletions.undo()
        if chats:
            self._find(self.typed, chats[0])

    def _show_deletion(self) -> None:
        last = self._deletions.last
        if last is None:
            self.tell("")
        else:
            title, seconds = last
            self.tell(
                Content.assemble(
                    ("✕ ", "$warning"),
                    f"“{for_display(title)}” is deleted.  ",
                    (self._undo_key, "bold $accent"),
                    (f" brings it back · {seconds:>2} s", "$muted"),
                )
            )
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a row is renamed nothing else is done; without a row there is nothing to do."""
        if action == "undo_delete":
            return self._deletions.last is not None
        if self._renames and action != "leave_list":
            return False
        if action in _ON_CHATS and self.rows.key is None:
            return None
        return super().check_action(action, parameters)
