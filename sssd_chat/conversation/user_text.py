"""Text of users and models kept apart from the marks of a template.

The written form of a control token in such a text must not become that token. It is replaced by a
placeholder character before a template is rendered, and put back as ordinary text when the result
is tokenized.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence

from sssd_chat.generation.tokenizer import Tokenizer

_FIRST_PLACEHOLDER = 0xF0000
"""Private-use characters, which no template holds; where a text does, they are replaced too."""
_PRIVATE = re.compile("[\U000f0000-\U000ffffd]")
_KEPT = 1024


class UserText:
    """Protects texts and tokenizes what became of them."""

    def __init__(self, tokenizer: Tokenizer, marks: Sequence[str] = ()) -> None:
        """`marks` are forms that must be ordinary text though they are no control tokens."""
        self._tokenizer = tokenizer
        self._marks = marks
        self._placeholders: dict[str, str] = {}
        self.protect_kept = functools.lru_cache(_KEPT)(self.protect)
        """Like protect, for texts that come again with each question."""

    def protect(self, text: str) -> str:
        """`text` with a placeholder for every written form of a control token."""
        text = _PRIVATE.sub(lambda found: self.placeholder(found[0]), text)
        while forms := self._forms(text):
            for form in forms:
                text = text.replace(form, self.placeholder(form))
        return text

    def _forms(self, text: str) -> list[str]:
        marks = [mark for mark in self._marks if mark in text]
        return self._tokenizer.control_texts(text) + marks

    def placeholder(self, form: str) -> str:
        """The character that stands for a form."""
        character = chr(_FIRST_PLACEHOLDER + len(self._placeholders))
        return self._placeholders.setdefault(form, character)

    @property
    def placeholders(self) -> Mapping[str, str]:
        """The character for each form so far."""
        return self._placeholders

    def tokenize(self, text: str, *, start: bool) -> list[int]:
        """Tokens of rendered text. With `start` it is the beginning of a prompt, which gets the
        start token unless the template wrote it."""
        tokenizer = self._tokenizer
        written = tokenizer.text_of(tokenizer.start)
        add_start = start and not (written and text.startswith(written))
        if not self._placeholders:
            return self._segment(text, first=start, special=True, add_start=add_start)
        forms = {placeholder: form for form, placeholder in self._placeholders.items()}
        tokens: list[int] = []
        for number, segment in enumerate(re.split(f"([{''.join(forms)}])", text)):
            is_first = start and number == 0
            if segment in forms:
                tokens += self._ordinary(forms[segment])
            elif segment or is_first:
                tokens += self._segment(
                    segment, first=is_first, special=True, add_start=add_start and is_first
                )
        return tokens

    def _ordinary(self, form: str) -> list[int]:
        if form not in self._marks:
            return self._segment(form, first=False, special=False)
        # These become their token even in ordinary text; their parts do not.
        head = self._segment(form[:1], first=False, special=False)
        return head + self._segment(form[1:], first=False, special=False)

    def _segment(
        self, text: str, *, first: bool, special: bool, add_start: bool = False
    ) -> list[int]:
        if first or not text:
            return self._tokenizer.tokenize(text, special=special, add_start=add_start)
        # Some vocabularies put a space in front of every text; in the middle of one it would be
        # wrong. A newline in front takes that space and is cut off again.
        mark = self._tokenizer.tokenize("\n")
        tokens = self._tokenizer.tokenize("\n" + text, special=special)
        if tokens[: len(mark)] == mark:
            return tokens[len(mark) :]
        return self._tokenizer.tokenize(text, special=special)
