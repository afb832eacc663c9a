"""Looking for a text in files, whatever they are: as bytes, and as tokens."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

_CHUNK = 1 << 22
_PIECE_BYTES = 64
"""A text may be cut anywhere (a database page ends), so longer ones are looked for in pieces."""
_LEAST_BYTES = 12
"""Shorter pieces are found everywhere."""
_PIECE_TOKENS = 12
_LEAST_TOKENS = 3
_NEVER_CUT = frozenset({".segment", ".journal", ".state"})
"""Files that hold documents in one piece. Few tokens of a text prove nothing there: every language
has turns of phrase."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A place that holds a text, or a piece of it."""

    path: Path
    what: str
    """In a few words."""


def text_needles(text: str) -> set[bytes]:
    """What files hold that hold `text`: its bytes, whole and in pieces, plain and as JSON."""
    forms = {text.encode("utf-8", "surrogatepass"), json.dumps(text)[1:-1].encode()}
    return {piece for form in forms for piece in _pieces(form, _PIECE_BYTES, _LEAST_BYTES)}


def token_needles(tokens: Sequence[int]) -> set[bytes]:
    """The same for tokens, in both byte orders. Those at the ends depend on what stands around
    the text, so they are left out; none for a text of very few tokens."""
    inner = tokens[1:-1]
    if len(inner) < _LEAST_TOKENS:
        return set()
    found: set[bytes] = set()
    for order in ("<u4", ">u4"):
        content = np.array(inner, order).tobytes()
        found |= set(_pieces(content, 4 * _PIECE_TOKENS, 4 * _LEAST_TOKENS))
    return found


def _pieces(content: bytes, size: int, least: int) -> Iterator[bytes]:
    """The whole of a short content and its halves; pieces of `size` bytes of a longer one."""
    if len(content) > 2 * size:
        for start in range(0, len(content) - size + 1, size):
            yield content[start : start + size]
        return
    yield content
    middle = len(content) // 2 // 4 * 4
    yield from (half for half in (content[:middle], content[middle:]) if len(half) >= least)


def traces_in_files(
    folder: Path, texts: Iterable[bytes], tokens: Iterable[bytes]
) -> Iterator[Trace]:
    """Every file below `folder` that holds one of the needles, or has one in its name."""
    plain = [(needle, "the text") for needle in texts if needle]
    tokens = set(tokens)
    pieces = [(needle, "its tokens") for needle in tokens]
    whole = [(needle, "its tokens") for needle in _longest(tokens)]
    for path in sorted(folder.rglob("*")):
        if any(needle in str(path.name).encode("utf-8", "surrogateescape") for needle in texts):
            yield Trace(path, "the text, in its name")
        if path.is_file():
            needles = plain + (whole if path.suffix in _NEVER_CUT else pieces)
            for what in sorted(_found_in(path, needles)):
                yield Trace(path, what)


def _longest(needles: set[bytes]) -> list[bytes]:
    """Those that are no part of another one."""
    most = max(map(len, needles), default=0)

    def is_part(one: bytes) -> bool:
        # The many pieces of a long text are all of one length.
        return len(one) < most and any(one != other and one in other for other in needles)

    return [one for one in needles if not is_part(one)]


def _found_in(path: Path, needles: list[tuple[bytes, str]]) -> set[str]:
    """Raises OSError when the file cannot be read."""
    overlap = max((len(needle) for needle, _ in needles), default=1) - 1
    found: set[str] = set()
    rest = b""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            content = rest + chunk
            found |= {what for needle, what in needles if needle in content}
            rest = content[-overlap:] if overlap else b""
    return found
