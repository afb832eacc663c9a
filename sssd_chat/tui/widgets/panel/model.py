"""Which model answers, and on what."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from sssd_chat.text import counted, one_line
from sssd_chat.tui.widgets.panel.section import Section
from sssd_chat.tui.widgets.status_line import phase_text


class ModelSection(Section):
    """Name, description and processor; what goes on while there is none."""

    TITLE = "Model"
    RANK = 7

    def heights(self, is_calm: bool) -> tuple[int, ...]:
        """The name; with its description; with the processor."""
        return 1, 2, 3

    def lines(self, height: int) -> Sequence[Content]:
        """The name first."""
        model = self.state.model
        if model is None:
            return [phase_text(self.state)]
        processor = f"{counted(model.threads, 'thread')} · {'GPU' if model.gpu else 'no GPU'}"
        return [
            self._shortened(model.name, "bold"),
            self._shortened(model.description, "$muted"),
            Content.styled(processor, "$muted"),
        ]

    def _shortened(self, text: str, style: str) -> Content:
        shown = Content(one_line(text)).truncate(self.columns, ellipsis=True)
        return shown.stylize(style)
