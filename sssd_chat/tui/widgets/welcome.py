"""What an empty chat shows: what this is, how far the model is, and the first keys."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from sssd_chat.text import for_display, one_line
from sssd_chat.tui.chat_state import ChatState, Phase
from sssd_chat.tui.figures import bar, percent, short_count

_TITLE = "sssd-chat"
_PITCH = (
    "Your model, on your machine, with less waiting. What the text may go on with is looked up, "
    "and the model checks many guesses in one pass. The answers stay the model's own."
)
_TWO_COLUMNS = 60
"""From this width on."""
_KEYS = (
    ("enter", "asks"),
    ("ctrl+j", "begins a new line"),
    ("esc", "stops an answer"),
    ("ctrl+o", "finds earlier chats"),
    ("f1", "shows all keys"),
    ("ctrl+p", "finds every action"),
    ("/", "begins a command"),
    ("f5", "shows the settings"),
)


class Welcome(Static):
    """The block in an empty transcript."""

    def __init__(self, state: ChatState, problem: str = "") -> None:
        super().__init__(_text(state, problem, 2), markup=False)
        self._state = state
        self._problem = problem

    def show(self, state: ChatState, problem: str = "") -> None:
        """Shows where the model is now. `problem` says why there is none."""
        self._state, self._problem = state, problem
        self.update(_text(state, problem, 2 if self.size.width >= _TWO_COLUMNS else 1))

    def on_resize(self) -> None:
        """Keeps the keys aligned."""
        self.show(self._state, self._problem)


def _text(state: ChatState, problem: str, columns: int) -> Content:
    keys: list[str | tuple[str, str]] = []
    for number, (key, does) in enumerate(_KEYS):
        start = " " if number % columns else "\n"
        keys += [start, (f"{key:<8}", "$accent"), (f"{does:<20}", "$muted")]
    return Content.assemble(
        (_TITLE, "bold $accent"), "\n", _PITCH, "\n\n", _model(state, problem), "\n", *keys
    )


def _model(state: ChatState, problem: str) -> Content:
    if problem or state.phase is Phase.FAILED:
        return Content.assemble(
            ("✖ The model could not be loaded", "bold $text-error"),
            "\n",
            for_display(problem),
            "\n\n",
            ("ctrl+q", "$accent"),
            (" quits", "$muted"),
        )
    if state.model is None:
        full, rest = bar(state.loading_progress, 32)
        return Content.assemble(
            "◌ loading the model\n",
            (full, "$accent"),
            (rest, "$quiet"),
            f" {percent(state.loading_progress)}\n",
            ("You can ask already; the answer comes as soon as it is there.", "$muted"),
        )
    return Content.assemble(
        ("● ", "$accent"),
        (one_line(state.model.name), "bold"),
        (
            f"\n  {one_line(state.model.description)} · context of "
            f"{short_count(state.model.context_length)} tokens\n",
            "$muted",
        ),
        ("  Ask it something.", "$muted"),
    )
