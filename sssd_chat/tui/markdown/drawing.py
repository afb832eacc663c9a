"""From blocks of Markdown to lines of the screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from textual.content import Content

from sssd_chat.tui.markdown.blocks import Block, Code, Margin, Paragraph, Rule, Table
from sssd_chat.tui.markdown.highlighting import highlighted
from sssd_chat.tui.markdown.tables import table_lines

CODE = ".answer--code"
_LEAST_WIDTH = 8
"""Of what is left of the screen for the text of a block, in cells."""
_TAB = 4


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One line of the screen."""

    content: Content
    margin: int
    """How many of its first characters are not text, but lie left of it."""
    joint: str
    """What is between the text of this line and that of the next: a line feed, or where the screen
    is too narrow, the space or nothing at which the text was broken."""
    fill: str = ""
    """The style class of the whole line, up to the right edge."""


class Drawn(NamedTuple):
    """A block on the screen."""

    above: Sequence[Line]
    """The line between it and the one before, or none."""
    lines: Sequence[Line]


def draw(block: Block, width: int) -> Drawn:
    """The lines of a block with at most so many cells each."""
    above = [] if block.gap is None else [Line(_cut(block.gap, width), len(block.gap), "\n")]
    indent = min(block.margin.rest.cell_length, max(0, width - _LEAST_WIDTH))
    lines = _placed(_body(block, max(1, width - indent)), block.margin, width)
    return Drawn(above, list(lines))


def _body(block: Block, width: int) -> Iterator[Line]:
    match block:
        case Paragraph(text=text):
            yield from wrapped(text, width)
        case Code(language=language, text=text):
            # One cell of the block's colour is left and right of the code.
            for line in wrapped(highlighted(text, language), max(1, width - 2)):
                padded = Content(" ") + line.content
                yield Line(padded, 1, line.joint, CODE)
        case Table(rows=rows):
            for content in table_lines(rows, width):
                yield Line(content, 0, "\n")
        case Rule():
            yield Line(Content.styled("─" * width, ".answer--rule"), 0, "\n")


def _placed(lines: Iterator[Line], margin: Margin, width: int) -> Iterator[Line]:
    sign = margin.first
    for line in lines:
        sign = _cut(sign, max(0, width - _LEAST_WIDTH))
        styled = line.content.stylize_before(line.fill) if line.fill else line.content
        yield Line(sign + styled, len(sign) + line.margin, line.joint, line.fill)
        sign = margin.rest


def _cut(content: Content, width: int) -> Content:
    return content if content.cell_length <= width else content.truncate(width)


def wrapped(text: Content, width: int) -> Iterator[Line]:
    """The lines of a text."""
    for paragraph in text.split(allow_blank=True):
        whole = paragraph.expand_tabs(_TAB)
        first, *others = whole.wrap(width) or [whole]
        position = len(first)
        line = first
        for part in others:
            spaces = _leading_spaces(whole.plain[position:])
            yield Line(line, 0, " " if spaces else "")
            line = part[_leading_spaces(part.plain) :]
            position += spaces + len(line)
        yield Line(line, 0, "\n")


def _leading_spaces(text: str) -> int:
    return len(text) - len(text.lstrip(" "))
