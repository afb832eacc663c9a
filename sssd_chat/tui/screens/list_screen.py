"""A screen with a list that is narrowed down by typing; the lists of chats and models are two."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from pathlib import PurePath
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ScreenResultType
from textual.timer import Timer
from textual.widgets import Input, Static

from sssd_chat.text import for_display
from sssd_chat.tui.screens.action_screen import ActionScreen
from sssd_chat.tui.widgets.key_footer import KeyFooter
from sssd_chat.tui.widgets.row_list import Row, RowList

_QUIET_SECONDS = 0.15
"""How long nothing is typed before it is looked for."""


class ListScreen(ActionScreen[ScreenResultType]):
    """A headline, a field to type into, the rows, and a line for what is to be told.

    The field keeps the focus; the keys that move the cursor of the list are actions."""

    CSS_PATH: ClassVar[list[str | PurePath]] = ["list_screen.tcss"]
    AUTO_FOCUS = "#typed"
    headline: str = ""
    placeholder: str = ""

    def __init__(self) -> None:
        super().__init__()
        self.rows = RowList(id="rows")
        self._summary = Static(id="summary", markup=False)
        self._nothing = Static(id="nothing", markup=False)
        self._telling = Static(id="telling", markup=False)
        self._quiet: Timer | None = None
        self._shown_for = ""
        """The text that was typed when the rows were shown."""
        self._waiting: Callable[[], object] | None = None
        """What is to be done with the row under the cursor once the rows are those of the text."""

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        with Vertical(id="list-box"):
            with Horizontal(id="head"):
                yield Static(self.headline, id="headline", markup=False)
                yield self._summary
            yield Input(placeholder=self.placeholder, id="typed")
            yield self.rows
            yield self._nothing
            yield from self.compose_below()
            yield self._telling
        yield KeyFooter()

    def compose_below(self) -> ComposeResult:
        """What stands between the list and the line below it."""
        yield from ()

    @property
    def typed(self) -> str:
        """What stands in the field."""
        return self.query_one("#typed", Input).value.strip()

    def show_rows(
        self, rows: Sequence[Row], key: Hashable | None = None, nothing: Content | str = ""
    ) -> None:
        """Shows rows in place of those before, with the cursor on `key` if it is given; `nothing`
        stands in place of a list without rows."""
        self.rows.show_rows(rows, key)
        self.rows.display = bool(rows)
        self._shown_for = self.typed
        self._nothing.update(nothing)
        self._nothing.display = not rows
        self.refresh_bindings()
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting()

    def begin_with(self, typed: str) -> None:
        """Puts text into the field, as if it were typed."""
        with self.prevent(Input.Changed):
            self.query_one("#typed", Input).value = typed
            self._shown_for = self.typed

    def summarize(self, text: str) -> None:
        """Says in a few words what the list holds."""
        self._summary.update(for_display(text))

    def tell(self, text: str | Content, *, is_problem: bool = False) -> None:
        """Shows a line below the list, or none for an empty text."""
        shown = text if isinstance(text, Content) else Content(for_display(text))
        self._telling.update(Content.assemble(("✖ ", "bold"), shown) if is_problem else shown)
        self._telling.set_class(bool(text), "-shown")
        self._telling.set_class(is_problem, "-problem")

    def look_for(self, typed: str) -> None:
        """Shows what there is for the text that was typed; each kind of list does it its way."""
        raise NotImplementedError

    def choose(self, key: Hashable) -> None:
        """Takes the row of `key`."""
        raise NotImplementedError

    @on(Input.Changed, "#typed")
    def _wait_for_quiet(self) -> None:
        if self._quiet is not None:
            self._quiet.stop()
        self._quiet = self.set_timer(_QUIET_SECONDS, lambda: self.look_for(self.typed))

    def in_turn(self, do: Callable[[], object]) -> None:
        """Does something after what was typed before it. Keys of actions come here sooner than
        those that go through the field, and a fast typist would hit the wrong row."""
        self.query_one("#typed").call_later(do)

    def with_row(self, do: Callable[[], object]) -> None:
        """Does something with the row under the cursor, in turn, and not before the rows are those
        that the typed text asks for."""
        self.in_turn(lambda: self._do_or_wait(do))

    def _do_or_wait(self, do: Callable[[], object]) -> None:
        if self.typed == self._shown_for:
            do()
        else:
            self._waiting = do

    def give_up_waiting(self) -> None:
        """Forgets what was to be done: the rows do not come."""
        self._waiting = None

    def action_choose_row(self) -> None:
        """Takes the row under the cursor."""
        self.with_row(self._choose)

    def _choose(self) -> None:
        if self.rows.key is not None:
            self.choose(self.rows.key)

    @on(RowList.Chosen)
    def _choose_by_mouse(self, event: RowList.Chosen) -> None:
        self.choose(event.key)

    @on(RowList.Moved)
    def _refresh_keys(self) -> None:
        self.refresh_bindings()

    def action_row_up(self) -> None:
        """Moves the cursor to the row before."""
        self.in_turn(lambda: self.rows.move(-1))

    def action_row_down(self) -> None:
        """Moves the cursor to the row after."""
        self.in_turn(lambda: self.rows.move(1))

    def action_rows_up(self) -> None:
        """Moves the cursor a page up."""
        self.in_turn(lambda: self.rows.move_page(-1))

    def action_rows_down(self) -> None:
        """Moves the cursor a page down."""
        self.in_turn(lambda: self.rows.move_page(1))

    def action_first_row(self) -> None:
        """Moves the cursor to the first row."""
        self.in_turn(lambda: self.rows.move_to_end(-1))

    def action_last_row(self) -> None:
        """Moves the cursor to the last row."""
        self.in_turn(lambda: self.rows.move_to_end(1))

    def action_leave_list(self) -> None:
        """Takes back what was typed, or else closes the screen."""
        self.in_turn(self._leave)

    def _leave(self) -> None:
        if self.typed:
            self.query_one("#typed", Input).clear()
        else:
            self.dismiss(None)
