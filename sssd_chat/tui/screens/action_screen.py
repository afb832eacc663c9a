"""A screen whose keys come from the list of all actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingsMap
from textual.dom import DOMNode
from textual.screen import Screen, ScreenResultType

from sssd_chat.tui.actions import Action
from sssd_chat.tui.keymap import Keymap, keymap_of_app


class ActionScreen(Screen[ScreenResultType]):
    """Binds the user's keys to the actions in `ACTIONS`, each of which is a method `action_` of
    its name here."""

    ACTIONS: ClassVar[tuple[Action, ...]] = ()

    def __init__(self) -> None:
        super().__init__()
        bind(self, self.ACTIONS, keymap_of_app(self.app))

    def offered(self, action: str) -> bool:
        """Whether the palette has the action now."""
        return bool(self.check_action(action, ()))


def bind(node: DOMNode, actions: Sequence[Action], keymap: Keymap) -> None:
    """Gives a screen, a widget or the app the keys of `actions`.

    Textual's own keymap takes all bindings off a key of which one is changed, also those of
    another mode, and works it all out again at each key press."""
    own = [binding for action in actions for binding in action.bindings(keymap.chosen(action))]
    names = {action.name for action in actions}
    inherited = [binding for _, binding in node._bindings if binding.action not in names]
    node._bindings = BindingsMap([*own, *inherited])
