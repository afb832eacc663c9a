"""A question as it was asked: literal text, long ones folded."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from sssd_chat.text import for_display
from sssd_chat.tui.figures import count
from sssd_chat.tui.said import Said
from sssd_chat.tui.widgets.turn import Turn

_FOLD_ABOVE_LINES = 16
_FOLDED_LINES = 8
_FOLD_ABOVE_CHARACTERS = 4000
_FOLDED_CHARACTERS = 800


class Question(Turn):
    """One question of the user."""

    def __init__(self, said: Said, folded: bool) -> None:
        super().__init__(said)
        self._whole = for_display(said.text)
        self._short = _head(self._whole)
        self._folded = folded and self._short != self._whole

    def compose(self) -> ComposeResult:
        """The name of the speaker and the text."""
        yield self._speaker
        yield Static(self._content(), classes="body", markup=False)
        yield self.footer

    def _content(self) -> Content:
        if not self._folded:
            return Content(self._whole)
        hidden = self._whole.count("\n") - self._short.count("\n")
        rest = f"{count(hidden)} more lines" if hidden else "more"
        return Content.assemble(self._short, "\n", (f"… {rest} · click to unfold", "$muted"))

    def fold(self, folded: bool) -> None:
        """Shows the first lines only, or all of them. Short questions are always whole."""
        folded = folded and self._short != self._whole
        if folded != self._folded:
            self._folded = folded
            self.query_one(".body", Static).update(self._content())

    def on_click(self) -> None:
        """Unfolds, or folds."""
        if not self.screen.get_selected_text():
            self.fold(not self._folded)


def _head(text: str) -> str:
    """The first lines of a long text; a short one as it is."""
    lines = text.split("\n")
    if len(lines) > _FOLD_ABOVE_LINES:
        text = "\n".join(lines[:_FOLDED_LINES])
    return text if len(text) <= _FOLD_ABOVE_CHARACTERS else text[:_FOLDED_CHARACTERS]
