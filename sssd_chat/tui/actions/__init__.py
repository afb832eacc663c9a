"""Every action of the app, once: keys, footer, palette, help and slash commands come from here."""

from __future__ import annotations

from sssd_chat.tui.actions.action import TYPING, Action, Completes, Group
from sssd_chat.tui.actions.chat import (
    CHAT_ACTIONS,
    EVERYWHERE_ACTIONS,
    FIXED_KEYS,
    PROMPT_ACTIONS,
)
from sssd_chat.tui.actions.dialogs import (
    FIRST_RUN_ACTIONS,
    QUESTION_ACTIONS,
    READING_ACTIONS,
    SETTINGS_ACTIONS,
    WINDOW_ACTIONS,
)
from sssd_chat.tui.actions.lists import (
    CHATS_ACTIONS,
    DATASTORE_ACTIONS,
    LIST_ACTIONS,
    MODELS_ACTIONS,
)
from sssd_chat.tui.actions.messages import MESSAGE_ACTIONS

__all__ = [
    "ALL_ACTIONS",
    "CHATS_ACTIONS",
    "CHAT_ACTIONS",
    "DATASTORE_ACTIONS",
    "EVERYWHERE_ACTIONS",
    "FIRST_RUN_ACTIONS",
    "FIXED_KEYS",
    "LIST_ACTIONS",
    "MESSAGE_ACTIONS",
    "MODELS_ACTIONS",
    "PROMPT_ACTIONS",
    "QUESTION_ACTIONS",
    "READING_ACTIONS",
    "SETTINGS_ACTIONS",
    "TYPING",
    "WINDOW_ACTIONS",
    "Action",
    "Completes",
    "Group",
    "action_called",
]

ALL_ACTIONS = (
    *PROMPT_ACTIONS,
    *CHAT_ACTIONS,
    *MESSAGE_ACTIONS,
    *LIST_ACTIONS,
    *CHATS_ACTIONS,
    *MODELS_ACTIONS,
    *DATASTORE_ACTIONS,
    *SETTINGS_ACTIONS,
    *WINDOW_ACTIONS,
    *READING_ACTIONS,
    *QUESTION_ACTIONS,
    *FIRST_RUN_ACTIONS,
    *EVERYWHERE_ACTIONS,
)
"""In the order of the help. No two have the same name."""

_BY_NAME = {action.name: action for action in ALL_ACTIONS}


def action_called(name: str) -> Action:
    """The action of a name that there is."""
    return _BY_NAME[name]
