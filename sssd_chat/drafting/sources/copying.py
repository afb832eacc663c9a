"""Follows long verbatim copies: where in the text the current passage stood before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

ANCHOR = 4
"""Tokens that must agree before a place counts as a copy."""
LONGEST = 64
"""Agreement beyond this many tokens is not counted when a copy is found."""
TRUSTED = 8
"""A copy this long is followed through a differing token, which is taken for a replaced one."""
FORGIVEN = 16
"""After this many agreeing tokens, earlier differences are forgotten."""
MOST_MISSES = 2


class CopiedText(Protocol):
    """A text that can be copied from."""

    def __getitem__(self, place: int, /) -> int:
        """The token at an index."""


class CopyPointer(NamedTuple):
    """A place in a text that the current passage seems to repeat."""

    text: CopiedText
    """Not to be looked at but through the pointer."""
    place: int
    """Index of the token that should come next."""
    length: int
    """Tokens that agreed since the last difference, or since as far back as was looked."""
    misses: int
    """Differing tokens that were passed over and are not forgotten."""

    @property
    def token(self) -> int:
        """The token that should come next."""
        return self.text[self.place]


class CopyIndex:
    """Last places of every run of ANCHOR tokens in a text that grows and shrinks at its end."""

    def __init__(self) -> None:
        """The index of an empty text."""
        self._last: dict[int, int] = {}
        """Packed run to the index just after its last place."""
        self._before: list[int] = []
        """For each index of the text, what `_last` held for the run that ends there; 0 for none."""

    def append(self, keys: list[int]) -> None:
        """The text grew by one token and now ends with the packed contexts `keys`."""
        place = len(self._before) + 1
        before = 0
        if len(keys) >= ANCHOR:
            before = self._last.get(keys[ANCHOR - 1], 0)
            self._last[keys[ANCHOR - 1]] = place
        self._before.append(before)

    def pop(self, keys: list[int]) -> None:
        """Takes back the last append, which had the same `keys`."""
        before = self._before.pop()
        if before:
            self._last[keys[ANCHOR - 1]] = before
        elif len(keys) >= ANCHOR:
            del self._last[keys[ANCHOR - 1]]

    def before(self, place: int) -> int:
        """The index after the next older place of the run that ends just before `place`, or 0."""
        return self._before[place - 1]

    def find(self, keys: list[int]) -> int:
        """The index just after the last place of the run that ends the packed context, or 0."""
        return self._last.get(keys[ANCHOR - 1], 0) if len(keys) >= ANCHOR else 0


def found_copy(text: CopiedText, place: int, tokens: Sequence[int], agreed: int) -> CopyPointer:
    """The copy from `text` whose next token is at `place`: the tokens before it are compared with
    the end of `tokens`. The last `agreed` are known to agree."""
    length, end = agreed, len(tokens)
    longest = min(LONGEST, place, end)
    while length < longest and text[place - 1 - length] == tokens[end - 1 - length]:
        length += 1
    return CopyPointer(text, place, length, 0)


def followed(pointer: CopyPointer | None, token: int) -> CopyPointer | None:
    """The pointer after `token` joined the passage; None when the copy has ended."""
    if pointer is None:
        return None
    text, place, length, misses = pointer
    if text[place] == token:
        length += 1
        if length >= FORGIVEN:
            misses = 0
    elif misses < MOST_MISSES and (length >= TRUSTED or misses):
        length = 0
        misses += 1
    else:
        return None
    return CopyPointer(text, place + 1, length, misses)
