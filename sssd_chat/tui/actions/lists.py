"""What can be done in the lists of chats and models and in the datastore."""

from __future__ import annotations

from sssd_chat.tui.actions.action import Action, Group


def _move(name: str, keys: str, title: str) -> Action:
    return Action(name, keys, title, "", Group.LISTS, priority=True, in_palette=False)


LIST_ACTIONS: tuple[Action, ...] = (
    Action(
        "choose_row",
        "enter",
        "Open or choose",
        "",
        Group.LISTS,
        "Open",
        # The field to type into would keep it from the footer.
        priority=True,
        in_palette=False,
    ),
    _move("row_up", "up", "Row before"),
    _move("row_down", "down", "Row after"),
    _move("rows_up", "pageup", "Page up"),
    _move("rows_down", "pagedown", "Page down"),
    _move("first_row", "ctrl+home", "First row"),
    _move("last_row", "ctrl+end", "Last row"),
    Action(
        "leave_list",
        "escape",
        "Close the list",
        "First takes back what was typed",
        Group.LISTS,
        "Close",
        priority=True,
        in_palette=False,
    ),
)
"""For every list."""


def _chats(name: str, keys: str, title: str, what: str, label: str) -> Action:
    # The field to type into has uses of its own for some of these keys.
    return Action(name, keys, title, what, Group.CHATS, label, priority=True)


CHATS_ACTIONS: tuple[Action, ...] = (
    _chats("rename_row", "ctrl+r", "Rename the chat", "In its row; enter keeps it", "Rename"),
    _chats(
        "fork_row",
        "ctrl+f",
        "Fork the chat",
        "A copy that goes its own way; the chat stays as it is",
        "Fork",
    ),
    _chats("export_row", "ctrl+s", "Export the chat", "As a file", "Export"),
    _chats(
        "delete_row",
        "ctrl+d",
        "Delete the chat",
        "For good after ten seconds, with what drafts took from it",
        "Delete",
    ),
    _chats("undo_delete", "ctrl+z", "Undo the deletion", "Within ten seconds", "Undo"),
)
MODELS_ACTIONS: tuple[Action, ...] = (
    Action(
        "read_models",
        "ctrl+r",
        "Look for models again",
        "After one was fetched",
        Group.MODELS,
        "Look again",
        priority=True,
    ),
)
DATASTORE_ACTIONS: tuple[Action, ...] = (
    Action(
        "forget_entry",
        "ctrl+d",
        "Forget for good",
        "A collection or a document; when it is done, nothing on the disk holds it",
        Group.DATASTORE,
        "Forget",
        priority=True,
    ),
    Action(
        "import_here",
        "f3",
        "Import documents",
        "Files and folders become a collection",
        Group.DATASTORE,
        "Import",
    ),
)
