"""What drafting gains, step by step; when there are no drafts, why."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from textual.content import Content

from sssd_chat.conversation.events import Drafting
from sssd_chat.tui.figures import UNKNOWN, decimal, percent
from sssd_chat.tui.plots import columns
from sssd_chat.tui.widgets.panel.section import Section

_SCALE = 8
"""Cells for the scale at the right of a plot."""
_LOWEST_TOP = 4


class DraftsSection(Section):
    """Whether there are drafts, tokens per step and acceptance rate, with a plot of each."""

    TITLE = "Drafts"
    RANK = 1

    def heights(self, is_calm: bool) -> tuple[int, ...]:
        """Rows; with a line of plot for each number; with two."""
        rows = 2 + len(self._state_lines())
        return rows, rows + 2, rows + 4

    def lines(self, height: int) -> Sequence[Content]:
        """A row for each number, and its plot below."""
        answer, state = self.state.answer, self._state_lines()
        plot = max(0, height - len(state) - 2) // 2
        width = self.columns - _SCALE
        top = max(_LOWEST_TOP, *self.state.tokens_of_steps, 0)
        return (
            *state,
            self.row("tokens per step", decimal(answer.tokens_per_step if answer else None, 2)),
            *_plot(list(self.state.tokens_of_steps)[-width:], 1, top, str(top), "1", width, plot),
            self.row("acceptance rate", percent(answer.acceptance_rate if answer else None)),
            *_plot(list(self.state.acceptance_of_steps)[-width:], 0, 1, "100 %", "0", width, plot),
        )

    def _state_lines(self) -> list[Content]:
        """On, or why not."""
        drafting = self.state.drafting
        if drafting is Drafting.ON:
            model = self.state.model
            name = f"● draft size ({model.shape})" if model else "● draft size"
            return [self.row(name, decimal(self.state.draft_size))]
        short, _, reason = drafting.value.partition(": ")
        lines = textwrap.wrap(reason, max(8, self.columns - 2))
        return [
            Content.assemble(("○ ", "$warning"), f"{short}:"),
            *(Content(f"  {line}") for line in lines),
        ]


def _plot(
    values: Sequence[float | None],
    low: float,
    high: float,
    top: str,
    foot: str,
    width: int,
    height: int,
) -> list[Content]:
    """The values with the newest on the right, and the scale beside them."""
    if not height:
        return []
    scales = [f"{foot}–{top}"] if height == 1 else [top, *[""] * (height - 2), foot]
    drawn = columns(values, low, high, height) if values else [""] * (height - 1) + [UNKNOWN]
    return [
        Content.assemble((f"{line:>{width}}", "$accent"), (f"{scale:>{_SCALE}}", "$muted"))
        for line, scale in zip(drawn, scales, strict=True)
    ]
