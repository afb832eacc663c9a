"""A list from which things can be forgotten for good: it asks, shows progress, and waits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on, work
from textual.content import Content
from textual.message import Message

from sssd_chat.errors import UserError
from sssd_chat.text import for_display
from sssd_chat.tui.figures import bar
from sssd_chat.tui.screens.list_screen import ListScreen

if TYPE_CHECKING:
    from sssd_chat.conversation.progress import Progress

_BAR = 24


class ForgettingScreen(ListScreen[str | None]):
    """What the lists of collections and of documents share."""

    @dataclass
    class Failed(Message):
        """The disk could not be read, or something could not be forgotten."""

        problem: str

    @dataclass
    class Forgetting(Message):
        """Something is being taken off the disk."""

        name: str
        done: int
        total: int

    @dataclass
    class Forgotten(Message):
        """Nothing on the disk holds it any more."""

        name: str

    def __init__(self) -> None:
        super().__init__()
        self._is_forgetting = False

    def read_rows(self) -> None:
        """Reads anew what there is."""
        raise NotImplementedError

    def ask_to_forget(self, name: str, what: str, forget: Callable[[Progress], None]) -> None:
        """Forgets something if the user agrees; `what` names it in the question."""
        from sssd_chat.tui.screens.confirm import ConfirmScreen

        question = (
            f"Forget {what}? It cannot be undone: when it is done, no file of sssd-chat holds it."
        )

        def answered(agrees: bool | None) -> None:
            if agrees:
                self._is_forgetting = True
                self._show_progress(self.Forgetting(name, 0, 0))
                self.refresh_bindings()
                self._forget(name, forget)

        self.app.push_screen(ConfirmScreen(for_display(question), "Forget", "Keep"), answered)

    @work(thread=True, group="forget", exit_on_error=False)
    def _forget(self, name: str, forget: Callable[[Progress], None]) -> None:
        def progress(done: int, total: int) -> None:
            self.post_message(self.Forgetting(name, done, total))

        try:
            forget(progress)
        except UserError as error:
            self.post_message(self.Failed(str(error)))
        else:
            self.post_message(self.Forgotten(name))

    @on(Forgetting)
    def _show_progress(self, event: Forgetting) -> None:
        full, rest = bar(event.done / event.total if event.total else 0.0, _BAR)
        self.tell(
            Content.assemble(
                ("◌ ", "$accent"),
                f"forgetting {for_display(event.name)}  ",
                (full, "$accent"),
                (rest, "$quiet"),
            )
        )

    @on(Forgotten)
    def _show_forgotten(self, event: Forgotten) -> None:
        self._is_forgetting = False
        self.tell(f"✓ {event.name} is forgotten: nothing on the disk holds it any more.")
        self.read_rows()

    @on(Failed)
    def _show_problem(self, event: Failed) -> None:
        self._is_forgetting = False
        self.tell(event.problem, is_problem=True)
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """One thing at a time is forgotten."""
        if action == "forget_entry" and (self._is_forgetting or self.rows.key is None):
            return None
        return super().check_action(action, parameters)
