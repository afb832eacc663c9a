"""Tables of Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from textual.content import Content

from sssd_chat.tui.markdown.blocks import Cell

_HEAD = ".answer--table-head"
_LINE = ".answer--table-line"
_BETWEEN = Content.styled(" │ ", _LINE)
_LEAST_COLUMN = 4
"""Cells; what has less room is not read as a column."""

Row = Sequence[Cell]


def table_lines(rows: Sequence[Row], width: int) -> list[Content]:
    """The lines of a table of at most so many cells; the first row is the head. Where the columns
    do not fit beside each other, each row is a list of its cells."""
    columns = column_widths(rows, width)
    if columns is None:
        return list(_listed(rows, width))
    head = [Cell(cell.text.stylize_before(_HEAD), cell.align) for cell in rows[0]]
    below = Content.styled("─┼─".join("─" * column for column in columns), _LINE)
    drawn = [_row_lines(row, columns) for row in rows[1:]]
    lines = [*_row_lines(head, columns), below]
    # Rows of several lines need something between them.
    is_high = any(len(row) > 1 for row in drawn)
    for number, row in enumerate(drawn):
        lines += [below] if is_high and number else []
        lines += row
    return lines


def column_widths(rows: Sequence[Row], width: int) -> list[int] | None:
    """The cells of each column: what it needs, and where that is too much for `width`, less for the
    widest; None where they do not fit."""
    count = max(map(len, rows))
    widths = [
        max((_needed(row[number].text) for row in rows if number < len(row)), default=1)
        for number in range(count)
    ]
    room = width - len(_BETWEEN) * (count - 1)
    if sum(widths) <= room:
        return widths
    if room < _LEAST_COLUMN * count:
        return None
    return _narrowed(widths, room)


def _narrowed(widths: list[int], room: int) -> list[int]:
    """As many cells for each of the widest columns, and for the others what they need."""
    shares = dict.fromkeys(range(len(widths)), 0)
    open_columns = sorted(shares, key=widths.__getitem__)
    while open_columns:
        share = room // len(open_columns)
        number = open_columns.pop(0)
        shares[number] = min(widths[number], share)
        room -= shares[number]
    return list(shares.values())


def _needed(text: Content) -> int:
    return max(1, *(line.cell_length for line in text.split(allow_blank=True)))


def _row_lines(row: Row, columns: Sequence[int]) -> list[Content]:
    cells = [
        cell.text.wrap(column) if cell is not None else []
        for cell, column in zip_longest(row, columns)
    ]
    aligns = [cell.align for cell in row] + ["left"] * (len(columns) - len(row))
    return [
        _BETWEEN.join(
            _aligned(part, column, align)
            for part, column, align in zip(line, columns, aligns, strict=True)
        )
        for line in zip_longest(*cells, fillvalue=Content(""))
    ]


def _aligned(text: Content, width: int, align: str) -> Content:
    space = max(0, width - text.cell_length)
    before = {"right": space, "center": space // 2}.get(align, 0)
    return text.pad(before, space - before)


def _listed(rows: Sequence[Row], width: int) -> Iterator[Content]:
    names = [cell.text.stylize_before(_HEAD) for cell in rows[0]]
    if len(rows) == 1:
        yield from Content(", ").join(names).wrap(width)
    for number, row in enumerate(rows[1:]):
        if number:
            yield Content("")
        for name, cell in zip(names, row, strict=False):
            yield from Content.assemble(name, ": ", cell.text).wrap(width)
