"""What questions and answers have in common."""

from __future__ import annotations

from dataclasses import dataclass

from textual.containers import Vertical

from sssd_chat.conversation.attachments import shortened
from sssd_chat.conversation.events import ShownTurn

_UNNAMED = "Assistant"
"""Who answered in a chat of another program that does not say."""


@dataclass(slots=True)
class Said:
    """What a turn holds. It stays when the turn is taken off the screen."""

    text: str = ""
    """As it was asked or written, with a line in place of each document that went along."""
    speaker: str = ""
    """The model that answered; empty in a question."""
    note: str = ""
    """The line below an answer."""
    style: str = ""
    """The style class of the note."""
    thinking: str = ""
    """What the model thought before an answer."""
    joined: bool = False
    """Whether an answer became part of the chat, with its question: not one without a token."""
    left_out: bool = False
    """Whether an answer is the last one that is no longer in the prompt."""

    @classmethod
    def restored(cls, turn: ShownTurn) -> Said:
        """A turn of an earlier chat."""
        if turn.role == "user":
            return cls(shortened(turn.text))
        note, style = ("", "") if turn.complete else ("■ not complete", "-cut")
        joined = bool(turn.text or turn.thinking)
        speaker = turn.model.strip() or _UNNAMED
        return cls(turn.text, speaker, note, style, turn.thinking, joined)


class Turn(Vertical):
    """One side's say in the conversation."""

    def __init__(self, said: Said) -> None:
        super().__init__()
        self.said = said
