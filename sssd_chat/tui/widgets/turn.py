"""What questions and answers have in common."""

from __future__ import annotations

from dataclasses import dataclass

from textual.containers import Vertical


@dataclass(slots=True)
class Said:
    """What a turn holds. It stays when the turn is taken off the screen."""

    text: str = ""
    """As it was asked or written."""
    speaker: str = ""
    """The model that answered; empty in a question."""
    note: str = ""
    """The line below an answer."""
    style: str = ""
    """The style class of the note."""


class Turn(Vertical):
    """One side's say in the conversation."""

    def __init__(self, said: Said) -> None:
        super().__init__()
        self.said = said
