"""The other screens that the chat leads to, and what they give back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual import work

from sssd_chat.conversation.events import ChatBackend, Event
from sssd_chat.tui.deletions import Deletions
from sssd_chat.tui.imports import Imports
from sssd_chat.tui.screens.chat_base import ChatScreenBase
from sssd_chat.tui.slash import typed_path
from sssd_chat.tui.widgets.status_line import StatusLine

if TYPE_CHECKING:
    from sssd_chat.conversation.catalogue import ModelChoice
    from sssd_chat.tui.screens.numbers import NumbersScreen

PANEL_FROM_COLUMNS = 100
"""The panel is shown by itself from this width on."""
_PANEL_FITS_FROM_COLUMNS = 72
"""Below this width there would be no room to read beside the panel."""


class NavigationActions(ChatScreenBase):
    """The part of the chat screen that opens the lists, the datastore and the import."""

    def __init__(self, backend: ChatBackend) -> None:
        super().__init__(backend)
        self._imports = Imports(self.app)
        self._deletions = Deletions(self.app)
        self._follower: Callable[[Event], None] | None = None
        """What else wants to know what the engine tells."""
        self._numbers: NumbersScreen | None = None
        """The panel by itself, while it is open."""
        self._panel_wanted: bool | None = None
        """What the user chose by key; None while the width decides."""

    def close_imports(self) -> None:
        """Nothing goes on without the screen."""
        self._imports.close()

    @work
    async def action_open_chats(self) -> None:
        """Shows all chats, and opens the one that is chosen."""
        from sssd_chat.tui.screens.chats import ChatsScreen

        screen = ChatsScreen(
            self._services.library, self._state.chat, self._deletions, self._backend.new_chat
        )
        chat = await self.app.push_screen_wait(screen)
        if chat is not None and chat != self._state.chat:
            self._backend.open_chat(chat)

    def action_open_models(self, typed: str = "") -> None:
        """Shows all models, to choose another one for this chat."""
        from sssd_chat.tui.screens.models import ModelsScreen

        catalogue = self._services.models
        if catalogue is not None:
            loaded = self._state.model.path if self._state.model else ""
            screen = ModelsScreen(catalogue, loaded, self._backend.load_model, typed)
            self._follower = screen.follow
            self.app.push_screen(screen, lambda _: self._follow_no_more())

    def command_open_models(self, name: str) -> None:
        """Loads the model of the name; shows those it may be when there is none or more."""
        if name:
            self._load_by_name(name)
        else:
            self.action_open_models()

    @work(thread=True, exit_on_error=False)
    def _load_by_name(self, name: str) -> None:
        models = self._services.models.models() if self._services.models else []
        self.app.call_from_thread(self._load_one_of, name, models)

    def _load_one_of(self, name: str, models: list[ModelChoice]) -> None:
        named = [model for model in models if name.casefold() == model.name.casefold()]
        if len(named) == 1 and not named[0].problem:
            self._backend.load_model(named[0].path)
        else:
            self.action_open_models(name)

    async def take(self, event: Event) -> None:
        """Lets the list of models know how far the chosen one is."""
        if self._follower is not None:
            self._follower(event)
        await super().take(event)

    def _follow_no_more(self) -> None:
        self._follower = None

    @work
    async def action_open_datastore(self) -> None:
        """Shows what drafts come from, and what it saved."""
        from sssd_chat.tui.screens.datastore import CHATS, DatastoreScreen

        open_import = self.action_import_documents if self._state.model else None
        screen = DatastoreScreen(self._services.datastore, open_import)
        if await self.app.push_screen_wait(screen) == CHATS:
            self.action_open_chats()

    def action_import_documents(self) -> None:
        """Makes files a collection that is drafted from."""
        self.command_import_documents("")

    def command_import_documents(self, path: str) -> None:
        """Begins with a path that was typed; empty for none."""
        if self._state.model is None:
            self.notify("An import waits for the model; try again when it is there.", markup=False)
            return
        self._imports.open(Path(self._state.model.path), typed_path(path))

    @property
    def _has_panel(self) -> bool:
        """Whether the numbers stand in the panel, and not in one line."""
        width = self.size.width
        if self._panel_wanted is None:
            return width >= PANEL_FROM_COLUMNS
        return self._panel_wanted and width >= _PANEL_FITS_FROM_COLUMNS

    def fold_panel(self) -> None:
        """Shows the panel, or folds its numbers into the line above the prompt."""
        self.set_class(self._has_panel, "-with-panel")
        self.query_one(StatusLine).folded = not self._has_panel

    def show_state(self) -> None:
        """Draws the figures where they stand now."""
        super().show_state()
        if self._numbers is not None:
            self._numbers.show()

    def action_toggle_panel(self) -> None:
        """Folds the panel, or shows it also where it is not shown by itself; over the chat where
        there is no room beside it."""
        if self.size.width < _PANEL_FITS_FROM_COLUMNS:
            self._open_numbers()
            return
        self._panel_wanted = not self._has_panel
        self.fold_panel()

    def _open_numbers(self) -> None:
        from sssd_chat.tui.screens.numbers import NumbersScreen

        self._numbers = NumbersScreen(self._state)
        self.app.push_screen(self._numbers, lambda _: self._close_numbers())

    def _close_numbers(self) -> None:
        self._numbers = None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """An import needs a model, whose vocabulary it is indexed for."""
        if action == "open_models" and self._services.models is None:
            return None
        if action == "import_documents" and self._state.model is None:
            return None
        return super().check_action(action, parameters)
