"""CSV and TSV: one row a line, its cells separated by tabs, without the quotes."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import chain, islice

from sssd_chat.documents.document import Document, DocumentError, Source, amount
from sssd_chat.documents.encoding import in_parts, text_lines

_LONGEST_CELL = 1_000_000
_DELIMITERS = ",;\t|"
_TRIED_LINES = 20


def read(source: Source) -> Iterator[Document]:
    """The rows as text. Raises DocumentError about a cell that never ends."""
    lines = text_lines(source)
    first = list(islice(lines, _TRIED_LINES))
    delimiter = "\t" if source.name.lower().endswith((".tsv", ".tab")) else _delimiter(first)
    yield from in_parts(source.name, _rows(chain(first, lines), delimiter))


def _delimiter(lines: list[str]) -> str:
    """The character that splits most of the lines into as many cells as the first."""

    def fit(delimiter: str) -> tuple[int, int]:
        widths = [line.count(delimiter) for line in lines if line.strip()]
        if not widths or not widths[0]:
            return 0, 0
        return widths.count(widths[0]), widths[0]

    return max(_DELIMITERS, key=fit)


def _rows(lines: Iterator[str], delimiter: str) -> Iterator[str]:
    csv.field_size_limit(_LONGEST_CELL)
    rows = csv.reader(lines, delimiter=delimiter)
    try:
        for row in rows:
            yield "\t".join(row).rstrip() + "\n"
    except csv.Error:
        raise DocumentError(
            f"has a cell of more than {amount(_LONGEST_CELL)} that ends in line {rows.line_num}; "
            "a quotation mark may be missing"
        ) from None
