"""A vocabulary without a model: a token a character, and the control tokens it is given."""

from __future__ import annotations

import re
from collections.abc import Sequence

_FIRST_CHARACTER = 1000


class PlainTokenizer:
    """Implements Tokenizer. The control tokens are numbered from 0, the start token first and the
    end token second; `marks` come after them and become tokens in ordinary text too."""

    def __init__(self, control: Sequence[str] = (), marks: Sequence[str] = ()) -> None:
        self.control = list(control)
        self.marks = list(marks)
        self.start = 0 if control else None
        self.end = 1 if len(control) > 1 else None

    def text_of(self, token: int | None) -> str:
        return "" if token is None else self.written([token])

    def tokenize(self, text: str, *, special: bool = False, add_start: bool = False) -> list[int]:
        forms = [*self.control, *self.marks] if special else self.marks
        known = {form: number for number, form in enumerate([*self.control, *self.marks])}
        tokens = [0] if add_start and self.start is not None else []
        pieces = re.split("(" + "|".join(map(re.escape, forms)) + ")", text) if forms else [text]
        for piece in pieces:
            if piece in known and piece in forms:
                tokens.append(known[piece])
            else:
                tokens += [_FIRST_CHARACTER + ord(character) for character in piece]
        return tokens

    def control_texts(self, text: str) -> list[str]:
        return sorted((form for form in self.control if form in text), key=len, reverse=True)

    def turn_marks(self, template: str) -> list[str]:
        return sorted(mark for mark in self.marks if mark in template)

    def written(self, tokens: Sequence[int]) -> str:
        """The text of tokens, control tokens included."""
        forms = [*self.control, *self.marks]
        return "".join(
            chr(token - _FIRST_CHARACTER) if token >= _FIRST_CHARACTER else forms[token]
            for token in tokens
        )
