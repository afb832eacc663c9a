"""A long Markdown text in parts that can be drawn one without the other."""

from __future__ import annotations

import re

from sssd_chat.tui.markdown.fence import FenceScanner

LEAST_CHARACTERS = 600
"""A part is at least so long, so that there are not too many."""

_DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]+\]:[ \t]*\S", re.MULTILINE)
"""Where a link is defined by a name that other parts may use."""


def segments(text: str) -> list[str]:
    """The parts of a text, which joined are the text. A text that goes on has the same parts, but
    for its last one; unless it defines links by name, which keep it in one part."""
    if _DEFINITION.search(text):
        return [text]
    parts = []
    while end := first_end(text):
        parts.append(text[:end])
        text = text[end:]
    return [*parts, text]


def first_end(text: str) -> int:
    """Where the first part of a text ends: before a heading or a paragraph that begins at the
    margin below an empty line, for these end lists, quotes and tables. 0 while it does not. The
    first character of a line decides, so that the end is known before more of it is drawn."""
    fence = FenceScanner()
    position, after_empty = 0, False
    for line in text.split("\n"):
        if after_empty and position >= LEAST_CHARACTERS and not fence.is_open and _begins(line):
            return position
        fence.feed(line + "\n")
        after_empty = not line.strip()
        position += len(line) + 1
    return 0


def _begins(line: str) -> bool:
    return line[:1].isalpha() or line.startswith("#")
