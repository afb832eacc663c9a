"""A question with two answers."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Static

from sssd_chat.tui.actions import QUESTION_ACTIONS, action_called
from sssd_chat.tui.keymap import Keymap, keymap_of_app, shown_key
from sssd_chat.tui.screens.window import Window


class ConfirmScreen(Window[bool]):
    """Asks before something is lost; dismissed with the answer."""

    CSS_PATH = "confirm.tcss"
    AUTO_FOCUS = "#yes"
    ACTIONS = QUESTION_ACTIONS

    def __init__(self, question: str, yes: str, no: str = "Go on") -> None:
        super().__init__()
        self._question = question
        self._yes = yes
        self._no = no

    def compose(self) -> ComposeResult:
        """The question above two buttons."""
        keymap = keymap_of_app(self.app)
        with Vertical():
            yield Static(self._question, markup=False)
            with Horizontal():
                yes, no = self._yes + _key("say_yes", keymap), self._no + _key("say_no", keymap)
                yield Button(yes, id="yes", variant="primary", compact=True)
                yield Button(no, id="no", compact=True)

    @on(Button.Pressed)
    def _answer(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")

    def action_say_yes(self) -> None:
        """Agrees."""
        self.dismiss(True)

    def action_say_no(self) -> None:
        """Does not."""
        self.dismiss(False)

    def action_other_answer(self) -> None:
        """Goes to the other button."""
        self.focus_next()


def _key(name: str, keymap: Keymap) -> str:
    """The key of an action behind the words of its button."""
    keys = keymap.keys(action_called(name))
    return f" ({shown_key(keys[0])})" if keys else ""
