"""The other screens that the chat leads to, and what they give back."""

from __future__ import annotations

from pathlib import Path

from sssd_chat.conversation.events import ChatBackend
from sssd_chat.tui.imports import Imports
from sssd_chat.tui.screens.chat_base import ChatScreenBase


class NavigationActions(ChatScreenBase):
    """The part of the chat screen that opens the lists, the datastore and the import."""

    def __init__(self, backend: ChatBackend) -> None:
        super().__init__(backend)
        self._imports = Imports(self.app)

    def close_imports(self) -> None:
        """Nothing goes on without the screen."""
        self._imports.close()

    def action_import_documents(self) -> None:
        """Makes files a collection that is drafted from."""
        if self._state.model is not None:
            self._imports.open(Path(self._state.model.path))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """An import needs a model, whose vocabulary it is indexed for."""
        if action == "import_documents" and self._state.model is None:
            return None
        return super().check_action(action, parameters)
