"""The documents of an imported collection."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on, work
from textual.message import Message

from sssd_chat.errors import UserError
from sssd_chat.text import counted, one_line
from sssd_chat.tui.actions import DATASTORE_ACTIONS, LIST_ACTIONS
from sssd_chat.tui.screens.datastore_rows import document_rows
from sssd_chat.tui.screens.forgetting_screen import ForgettingScreen

if TYPE_CHECKING:
    from sssd_chat.conversation.datastore_library import DatastoreLibrary, DocumentEntry

_NOTHING = "This collection holds no documents any more."
_NONE_FOUND = "No document has all of these words in its name or title."


class DocumentsScreen(ForgettingScreen):
    """Every document of one collection by its name, to be looked over and forgotten."""

    ACTIONS = (
        *(action for action in DATASTORE_ACTIONS if action.name != "import_here"),
        *(action for action in LIST_ACTIONS if action.name != "choose_row"),
    )
    placeholder = "Narrow down by name or title"

    @dataclass
    class Read(Message):
        """The documents of the collection."""

        documents: list[DocumentEntry]

    def __init__(self, library: DatastoreLibrary, collection: str) -> None:
        super().__init__()
        self._library = library
        self._collection = collection
        self._documents: list[DocumentEntry] = []
        self.headline = one_line(collection)

    def on_mount(self) -> None:
        """Reads the documents."""
        self.read_rows()

    def read_rows(self) -> None:
        """Reads the documents anew."""
        self._read()

    @work(thread=True, exclusive=True, group="find", exit_on_error=False)
    def _read(self) -> None:
        try:
            self.post_message(self.Read(self._library.documents(self._collection)))
        except UserError as error:
            self.post_message(self.Failed(str(error)))

    @on(Read)
    def _show_read(self, event: Read) -> None:
        self._documents = event.documents
        self.look_for(self.typed)

    def look_for(self, typed: str) -> None:
        """Shows the documents that hold the words."""
        rows = document_rows(self._documents, typed)
        self.show_rows(rows, None, _NONE_FOUND if self._documents else _NOTHING)
        self.summarize(counted(len(rows), "document"))

    def choose(self, key: Hashable) -> None:
        """A document is only looked at in this list."""

    def action_forget_entry(self) -> None:
        """Forgets the document under the cursor, if the user agrees."""
        self.with_row(self._forget_document)

    def _forget_document(self) -> None:
        name = self.rows.key
        if isinstance(name, str):
            self.ask_to_forget(
                name,
                f"the document {one_line(name)}",
                lambda progress: self._library.forget_document(name, self._collection, progress),
            )
