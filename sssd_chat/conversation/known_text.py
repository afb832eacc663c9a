"""The tokens that a text had when the model saw it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KnownText:
    """A prompt, or a prompt with its answer, as rendered and as the model saw it.

    The same text can be divided into tokens in several ways, and what a model writes is not always
    the way in which it would be read. While a later prompt begins with this text, its tokens are
    these, so nothing of it has to be read again.
    """

    text: str = ""
    tokens: tuple[int, ...] = ()
    borders: tuple[tuple[int, int], ...] = ()
    """(characters, tokens) up to which text and tokens agree: the ends of prompts and answers."""

    def with_text(self, text: str) -> KnownText:
        """The same with other placeholders; `text` has the length of this one."""
        return KnownText(text, self.tokens, self.borders)

    def followed_by(self, text: str, tokens: Sequence[int]) -> KnownText:
        """This text with more of it."""
        whole = self.text + text
        all_tokens = (*self.tokens, *tokens)
        return KnownText(whole, all_tokens, (*self.borders, (len(whole), len(all_tokens))))

    def shared_with(self, text: str) -> KnownText:
        """The longest part, up to a border, with which `text` begins."""
        common = _common_length(self.text, text)
        borders = tuple(border for border in self.borders if border[0] <= common)
        if not borders:
            return KnownText()
        characters, tokens = borders[-1]
        return KnownText(self.text[:characters], self.tokens[:tokens], borders)

    def rendered(self, text: str, tokenize: Callable[[str, bool], list[int]]) -> KnownText:
        """A new prompt. `tokenize` is called with what this text does not hold, and whether that
        is the beginning of the prompt."""
        shared = self.shared_with(text)
        rest = text[len(shared.text) :]
        return shared.followed_by(rest, tokenize(rest, not shared.text))


def _common_length(left: str, right: str) -> int:
    low, high = 0, min(len(left), len(right))
    # Comparing slices is fast, comparing characters is not.
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
