"""What the rooms above need of a vocabulary. `sssd_chat.llama.Vocabulary` is the real one."""

from __future__ import annotations

from typing import Protocol

from sssd_chat.llama.vocabulary import THINKING_MARKS, PieceDecoder

__all__ = ["THINKING_MARKS", "PieceDecoder", "Tokenizer"]


class Tokenizer(Protocol):
    """Text to tokens and back; see `sssd_chat.llama.vocabulary.Vocabulary` for each member."""

    @property
    def start(self) -> int | None:
        """The start-of-text token."""

    @property
    def end(self) -> int | None:
        """The end-of-text token."""

    def text_of(self, token: int | None) -> str:
        """How a token is written in a template."""

    def tokenize(self, text: str, *, special: bool = False, add_start: bool = False) -> list[int]:
        """Token ids of a text."""

    def control_texts(self, text: str) -> list[str]:
        """Written forms of control tokens in a text."""

    def turn_marks(self, template: str) -> list[str]:
        """Written forms of tokens of a template that ordinary text would become, too."""
