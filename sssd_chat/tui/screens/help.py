"""The help: every key, and what the numbers mean."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Static

from sssd_chat.tui.actions import ALL_ACTIONS, FIXED_KEYS, Action, Group
from sssd_chat.tui.keymap import Keymap, keymap_of_app
from sssd_chat.tui.screens.window import ReadingWindow
from sssd_chat.tui.slash import COMMANDS

_WIDTHS = [(0, "-narrow"), (70, "-wide")]
_WORDS = (
    ("tokens/s", "Of this answer, from its first token on."),
    ("speed-up", "Measured tokens/s over the measured tokens/s of this model without drafts."),
    ("step", "One pass of the model. It checks a whole draft at once."),
    ("tokens per step", "1.00 means that drafts gain nothing."),
    ("acceptance rate", "Of the drafted tokens that were tested, how many the model agreed to."),
    ("draft size", "Tokens drafted for a step. Chosen by what a step costs on this machine."),
    ("by source", "Where accepted tokens were drafted from; F7 marks them in the answers."),
    ("cost of a step", "Time of a step by its number of tokens, against a step of one token."),
    ("time", "What the answer's time went into: drafting, the model, sampling, the rest."),
    ("time saved", "Time of plain decoding less the time taken, over all answers."),
    ("kept from before", "Tokens of the prompt that were read before you sent it."),
    ("left out", "Questions with their answers that no longer fit into the context."),
    ("–", "Not known yet."),
)


class HelpScreen(ReadingWindow):
    """Keys and words."""

    CSS_PATH = "help.tcss"
    HORIZONTAL_BREAKPOINTS = _WIDTHS

    def compose(self) -> ComposeResult:
        """One scrollable box."""
        with VerticalScroll() as box:
            box.border_title = "Help"
            box.border_subtitle = self.way_out
            for group in Group:
                rows = _keys_of(group, keymap_of_app(self.app))
                if group is Group.PROMPT:
                    rows += FIXED_KEYS
                if rows:
                    yield from _section(group.value, rows)
            commands = [(action.slash, _what(action)) for action in COMMANDS.values()]
            yield from _section("Typed into the prompt", commands)
            yield from _section("The numbers", _WORDS)


def _keys_of(group: Group, keymap: Keymap) -> list[tuple[str, str]]:
    """The keys of a group with what they do."""
    return [
        (keymap.shown(action), _what(action))
        for action in ALL_ACTIONS
        if action.group is group and keymap.keys(action)
    ]


def _what(action: Action) -> str:
    return f"{action.title}. {action.help}." if action.help else f"{action.title}."


def _section(title: str, rows: Sequence[tuple[str, str]]) -> ComposeResult:
    yield Static(title, classes="title", markup=False)
    for key, does in rows:
        with Horizontal():
            yield Static(key, classes="key", markup=False)
            yield Static(does, markup=False)
