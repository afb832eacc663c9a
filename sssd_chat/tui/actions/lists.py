"""What can be done in the lists of chats and models, in the datastore and in an import."""

from __future__ import annotations

from sssd_chat.tui.actions.action import Action

CHATS_ACTIONS: tuple[Action, ...] = ()
MODELS_ACTIONS: tuple[Action, ...] = ()
DATASTORE_ACTIONS: tuple[Action, ...] = ()
IMPORT_ACTIONS: tuple[Action, ...] = ()
