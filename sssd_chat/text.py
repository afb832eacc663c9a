"""Text of a model or of a person, made safe for a terminal.

Only what is drawn goes through here. What is stored and sent stays whole.
"""

from __future__ import annotations

import unicodedata

_LINE_BREAKS = "\v\f\x85\u2028\u2029"
_BIDI_CONTROLS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

_OF_DOUBTFUL_WIDTH = "\u00ad\u200b\u200d\u2060\ufe0e\ufe0f\ufeff"
"""Terminals do not agree how wide these are, or what they join."""


def _replacements() -> dict[int, str | None]:
    table: dict[int, str | None] = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)))
    table.update(dict.fromkeys(map(ord, _BIDI_CONTROLS)))
    # A line break of another kind stays a break, or two words would become one.
    table.update(dict.fromkeys(map(ord, _LINE_BREAKS), "\n"))
    table.update(dict.fromkeys(range(0xD800, 0xE000), "\ufffd"))
    del table[ord("\n")], table[ord("\t")]
    return table


_REPLACEMENTS = _replacements()
_ROW_REPLACEMENTS: dict[int, str | None] = {
    **dict.fromkeys(map(ord, _OF_DOUBTFUL_WIDTH)),
    ord("\n"): " ",
    ord("\t"): " ",
}


def for_display(text: str) -> str:
    """`text` without what could move the cursor, colour the terminal or reverse a line. Works
    character by character, so pieces can be cleaned one after the other."""
    return text.translate(_REPLACEMENTS)


def one_line(text: str) -> str:
    """`text` for a place that has a single line."""
    return " ".join(for_display(text).split())


def for_row(text: str) -> str:
    """`for_display` for a row of a table, where what stands to the right has to keep its column.
    Works character by character too."""
    return for_display(text).translate(_ROW_REPLACEMENTS)


def counted(value: int, noun: str) -> str:
    """A number with its noun: 1 step, 2 steps."""
    return f"{value:,} {noun}" if value == 1 else f"{value:,} {noun}s"


def columns(text: str) -> int:
    """How many columns of a terminal a line takes: wide characters take two, accents none."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


def parameter_count(count: int) -> str:
    """The size of a model as its makers write it: 135M, 1.54B."""
    for power, unit in ((12, "T"), (9, "B"), (6, "M")):
        if count >= 10**power:
            return f"{count / 10**power:.3g}{unit}"
    return f"{count:,}"
