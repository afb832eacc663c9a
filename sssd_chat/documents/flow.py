"""The text of word processors: paragraphs, lists and tables as plain lines."""

from __future__ import annotations


class Flow:
    """Collects running text. Blank lines part paragraphs, tabs the cells of a table."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._cells = 0
        self._lists = 0

    @property
    def text(self) -> str:
        """What was collected until now, with one line end after it."""
        return "".join(self._pieces).strip() + "\n"

    def add(self, text: str) -> None:
        """Text within a paragraph."""
        self._pieces.append(text)

    def end_paragraph(self) -> None:
        """In a cell, the next paragraph goes on in the same line."""
        self._pieces.append(" " if self._cells else "\n" if self._lists else "\n\n")

    def start_item(self) -> None:
        """An item of a list begins."""
        self._pieces.append("- ")

    def start_list(self) -> None:
        """A list begins, perhaps within another."""
        self._lists += 1

    def end_list(self) -> None:
        """A list ends."""
        self._lists -= 1
        if not self._lists:
            self._pieces.append("\n")

    def start_cell(self) -> None:
        """A cell of a table begins."""
        self._cells += 1

    def end_cell(self) -> None:
        """A cell of a table ends."""
        self._cells -= 1
        self._replace_last(" ", "\t")

    def end_row(self) -> None:
        """A row of a table ends."""
        self._replace_last("\t", "\n")

    def end_table(self) -> None:
        """A table ends."""
        self._pieces.append("\n")

    def _replace_last(self, separator: str, by: str) -> None:
        if self._pieces and self._pieces[-1] == separator:
            self._pieces.pop()
        self._pieces.append(by)
