"""A window over the screen. Its keys come from the list of all actions, as those of the screens."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingsMap
from textual.screen import ModalScreen, ScreenResultType

from sssd_chat.tui.actions import READING_ACTIONS, WINDOW_ACTIONS, Action, action_called
from sssd_chat.tui.keymap import keymap_of_app, shown_key
from sssd_chat.tui.screens.action_screen import bind


class Window(ModalScreen[ScreenResultType]):
    """Dismissed with None when it is closed by key."""

    ACTIONS: ClassVar[tuple[Action, ...]] = WINDOW_ACTIONS

    def __init__(self) -> None:
        super().__init__()
        bind(self, self.ACTIONS, keymap_of_app(self.app))

    @property
    def way_out(self) -> str:
        """How it is closed, for the edge of the window."""
        keys = keymap_of_app(self.app).keys(action_called("close_window"))
        return f"{shown_key(keys[0])} closes" if keys else ""

    def action_close_window(self) -> None:
        """Closes it without a result."""
        self.dismiss(None)


class ReadingWindow(Window[None]):
    """A window with nothing to type into: the keys that open it close it too."""

    ACTIONS = (*WINDOW_ACTIONS, *READING_ACTIONS)
    OPENED_BY: ClassVar[tuple[str, ...]] = ()
    """The names of the actions that do."""

    def __init__(self) -> None:
        super().__init__()
        keymap = keymap_of_app(self.app)
        keys = [key for name in self.OPENED_BY for key in keymap.keys(action_called(name))]
        closing = [Binding(key, "close_reading", show=False) for key in keys]
        self._bindings = BindingsMap([*(binding for _, binding in self._bindings), *closing])

    def action_close_reading(self) -> None:
        """Closes it."""
        self.dismiss(None)
