"""What a model thought before its answer, folded to one line."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from sssd_chat.text import counted, for_display


class Thinking(Static):
    """The thinking of one answer; not there while there is none."""

    def __init__(self, text: str, folded: bool) -> None:
        self._text = text
        self._folded = folded
        self._ended = bool(text)
        super().__init__(self._content(), classes="thinking", markup=False)
        self.display = bool(text)

    def show(self, text: str, ended: bool) -> None:
        """Shows the thinking so far, and whether it has come to its end."""
        if (text, ended) != (self._text, self._ended):
            self._text, self._ended = text, ended
            self.display = bool(text)
            self.update(self._content(), layout=not self._folded)

    def fold(self, folded: bool) -> None:
        """Shows one line only, or all of it."""
        if folded != self._folded:
            self._folded = folded
            self.update(self._content())

    def on_click(self) -> None:
        """Unfolds, or folds."""
        if not self.screen.get_selected_text():
            self.fold(not self._folded)

    def _content(self) -> Content:
        words = counted(len(self._text.split()), "word")
        head = f"thought in {words}" if self._ended else f"thinking, {words} so far"
        if self._folded:
            return Content.styled(f"▸ {head} · ctrl+r or click unfolds", "$muted")
        return Content.styled(f"▾ {head}\n{for_display(self._text)}", "$muted")
