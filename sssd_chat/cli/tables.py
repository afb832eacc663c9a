"""Plain tables on stdout."""

from __future__ import annotations

from collections.abc import Sequence


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints aligned columns: the first one to the left, numbers to the right."""
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        first = line[0].ljust(widths[0])
        rest = [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        print("  ".join([first, *rest]).rstrip())


def figure(value: float | None, form: str) -> str:
    """A number, or – while it is unknown."""
    return "–" if value is None else format(value, form)
