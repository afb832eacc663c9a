"""How fast the answer is written, and how much faster than without drafts."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.renderables.digits import Digits

from sssd_chat.tui.chat_state import Phase
from sssd_chat.tui.figures import UNKNOWN, decimal, times
from sssd_chat.tui.widgets.panel.section import Section

_ROWS, _DIGITS_HEIGHT = 2, 3
_DIGITS_COLUMNS = 13
"""Room for "99.9" and for "9999": what stands beside the digits keeps its place."""
_NO_PLACES_FROM = 99.95


class SpeedSection(Section):
    """Two rows, or large digits where there is room."""

    TITLE = "Speed"
    RANK = 0

    def heights(self, is_calm: bool) -> tuple[int, ...]:
        """Rows, or digits; these alone where there is room for them."""
        return (_DIGITS_HEIGHT,) if is_calm else (_ROWS, _DIGITS_HEIGHT)

    def lines(self, height: int) -> Sequence[Content]:
        """Speed now, and the speed-up of the answer."""
        answer = self.state.answer
        speed, gain = self.state.speed_now, times(answer.speed_up if answer else None)
        when = "now" if self.state.phase is Phase.WRITING else ""
        if height < _DIGITS_HEIGHT:
            return (
                self.row(f"tokens/s {when}", decimal(speed)),
                self.row("speed-up over plain", gain),
            )
        beside = (
            Content(),
            Content.styled(f"tokens/s {when}", "$muted"),
            Content.assemble((f"{gain:<6}", "bold $accent"), ("plain decoding", "$muted")),
        )
        digits = [Content.styled(line, "bold $accent") for line in _large(speed)]
        return [Content.assemble(*pair) for pair in zip(digits, beside, strict=True)]


def _large(speed: float | None) -> list[str]:
    """A number as three lines of `_DIGITS_COLUMNS` cells."""
    text = decimal(speed, 1 if speed is None or speed < _NO_PLACES_FROM else 0)
    text = text.replace(",", "").replace(UNKNOWN, "-")
    pieces = Digits(text).render(Style(bold=True))
    drawn = "".join(piece.text for piece in pieces if isinstance(piece, Segment))
    return [f"{line:<{_DIGITS_COLUMNS}}" for line in drawn.splitlines()[:_DIGITS_HEIGHT]]
