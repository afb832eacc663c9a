"""How full the context is, and how far the prompt was read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.content import Content

from sssd_chat.text import counted
from sssd_chat.tui.chat_state import Phase
from sssd_chat.tui.figures import UNKNOWN, bar, count, percent
from sssd_chat.tui.widgets.panel.section import Section

_PERCENT_WIDTH = 6


class ContextSection(Section):
    """A bar and its numbers."""

    TITLE = "Context"
    RANK = 3

    def heights(self, is_calm: bool) -> tuple[int, ...]:
        """The bar; with its numbers; with those of the prompt."""
        remarks = self.state.context_is_full + bool(self.state.turns_left_out)
        return 1, 2 + remarks, 4 + remarks

    def lines(self, height: int) -> Sequence[Content]:
        """The bar, then what matters most."""
        return list(self._lines_there_are())[:height]

    def _lines_there_are(self) -> Iterator[Content]:
        state = self.state
        full, empty = bar(state.context_share or 0.0, max(4, self.columns - _PERCENT_WIDTH))
        yield Content.assemble(
            (full, "$accent"),
            (empty, "$quiet"),
            (f"{percent(state.context_share):>{_PERCENT_WIDTH}}", "bold"),
        )
        if state.context_is_full:
            yield Content.assemble(("▲ ", "$warning"), "full: the oldest turns go next")
        if state.turns_left_out:
            yield self.row("left out", counted(state.turns_left_out, "early turn"))
        length = state.model.context_length if state.model else None
        yield self.row("tokens", f"{count(state.context_tokens)} of {count(length)}")
        prompt = state.prompt
        if prompt is None:
            yield self.row("prompt read", UNKNOWN)
            yield self.row("kept from before", UNKNOWN)
            return
        done = f"{count(prompt.done)} of {count(prompt.total)}"
        reading = state.phase is Phase.READING
        yield self.row("prompt read", done if reading else count(prompt.total))
        yield self.row("kept from before", count(prompt.reused))
