"""Asks with which parameters an answer is to be written anew."""

from __future__ import annotations

from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Input, Static

from sssd_chat.conversation.events import AnswerParameters
from sssd_chat.text import for_display
from sssd_chat.tui.parameters import PARAMETERS
from sssd_chat.tui.screens.window import Window

_KNOWN = {parameter.name: parameter for parameter in PARAMETERS}
_NUMBERS = [name for name in _KNOWN if name != "thinking"]
_AS_SET = "as in this chat"
_THINKING = {None: _AS_SET, True: "on", False: "off"}


class ParametersScreen(Window[AnswerParameters | None]):
    """Dismissed with the parameters, or with None when there is to be no answer."""

    CSS_PATH = "parameters.tcss"
    AUTO_FOCUS = "#temperature"

    def __init__(self, parameters: AnswerParameters) -> None:
        """`parameters` are those of the answer before."""
        super().__init__()
        self._parameters = parameters
        self._thinking: bool | None = None

    def compose(self) -> ComposeResult:
        """A row for each parameter, then what is wrong, then buttons."""
        with Vertical() as box:
            box.border_title = "Answer again"
            box.border_subtitle = f"enter answers · {self.way_out}"
            for name in _NUMBERS:
                with Horizontal(classes="row"):
                    yield Static(name.replace("_", " "), classes="label", markup=False)
                    now = getattr(self._parameters, name)
                    placeholder = _AS_SET if now is None else f"{now:g}"
                    yield Input(placeholder=placeholder, id=name, compact=True)
            with Horizontal(classes="row"):
                yield Static("thinking", classes="label", markup=False)
                yield Button(_THINKING[None], id="thinking", compact=True)
            yield Static(id="problem", markup=False)
            with Horizontal(id="buttons"):
                yield Button("Answer again", id="again", variant="primary", compact=True)
                yield Button("Close", id="close", compact=True)

    @on(Button.Pressed, "#thinking")
    def _switch_thinking(self, event: Button.Pressed) -> None:
        following = {None: True, True: False, False: None}
        self._thinking = following[self._thinking]
        event.button.label = _THINKING[self._thinking]

    @on(Input.Submitted)
    @on(Button.Pressed, "#again")
    def _answer(self) -> None:
        values: dict[str, Any] = {"thinking": self._thinking}
        for one in self.query(Input):
            name, words = str(one.id), one.value.strip()
            try:
                values[name] = _KNOWN[name].read(words) if words else None
            except ValueError as error:
                problem = f"✖ {name.replace('_', ' ')} cannot be “{words}”: {error}."
                self.query_one("#problem", Static).update(for_display(problem))
                one.focus()
                return
        self.dismiss(AnswerParameters(**values))

    @on(Button.Pressed, "#close")
    def _close(self) -> None:
        self.dismiss(None)
