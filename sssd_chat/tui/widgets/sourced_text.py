"""The text of an answer as it was written, with what was drafted marked by its source."""

from __future__ import annotations

from textual import events
from textual.geometry import Region
from textual.widgets import Static

from sssd_chat.tui.messages import SpanChosen
from sssd_chat.tui.provenance import META, marked
from sssd_chat.tui.said import Said


class SourcedText(Static):
    """Not Markdown: what the model wrote is marked to the letter, signs of markup included."""

    def __init__(self, said: Said, current: int | None = None) -> None:
        """`current` is the number of the span that is looked at."""
        super().__init__(markup=False)
        self._said = said
        self._current = current
        self.show(current)

    def show(self, current: int | None) -> None:
        """Shows the text and the spans as they are now."""
        self._current = current
        self.update(marked(self._said.text, self._said.spans, current))

    def place(self, number: int) -> Region | None:
        """Where a span begins, in coordinates of this widget."""
        for y in range(self.size.height):
            x = 0
            for segment in self.render_line(y):
                if segment.style is not None and segment.style.meta.get(META) == number:
                    return Region(x, y, segment.cell_length, 1)
                x += segment.cell_length
        return None

    def on_click(self, event: events.Click) -> None:
        """Looks at the drafted words that were clicked."""
        number = event.style.meta.get(META)
        if number is not None and not self.screen.get_selected_text():
            event.stop()
            self.post_message(SpanChosen(self._said, number))
