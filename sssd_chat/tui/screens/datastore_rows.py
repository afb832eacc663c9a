"""The rows of the datastore: collections in groups, and the documents of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.content import Content

from sssd_chat.text import for_row, one_line
from sssd_chat.tui.figures import bar, count, duration, short_count, size
from sssd_chat.tui.widgets.row_list import Row

if TYPE_CHECKING:
    from sssd_chat.conversation.datastore_library import CollectionEntry, DocumentEntry

_GROUPS = {"chats": "Your chats", "imported": "Imported", "starter": "Came with the program"}
_SHORTEST_NAME, _BAR, _WIDEST_BAR = 14, 6, 24


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of numbers."""

    title: str
    width: int
    rank: int
    """The higher, the sooner the column goes where there is little room."""
    show: Callable[[CollectionEntry], str]


_COLUMNS = (
    _Column("documents", 11, 2, lambda entry: count(entry.documents)),
    _Column("tokens", 9, 1, lambda entry: short_count(entry.tokens)),
    _Column("size", 10, 3, lambda entry: size(entry.bytes)),
    _Column("accepted", 10, 4, lambda entry: short_count(entry.saved_tokens)),
    _Column("saved", 9, 0, lambda entry: duration(entry.saved_seconds)),
)


def collection_rows(entries: Sequence[CollectionEntry], typed: str) -> list[Row]:
    """A row for each collection whose name holds the typed words, in groups by where it came from;
    bars show what each saved against the one that saved most."""
    words = typed.casefold().split()
    fitting = [e for e in entries if all(word in e.name.casefold() for word in words)]
    most = max((entry.saved_seconds for entry in entries), default=0.0)
    rows: list[Row] = [Row(None, 1, _heads)] if fitting else []
    for kind, title in _GROUPS.items():
        own = [entry for entry in fitting if entry.kind == kind]
        if own:
            rows.append(Row(None, 2, _headline(title)))
            rows += [Row(entry.name, 1, _draw(entry, most)) for entry in own]
    return rows


def _columns_for(width: int) -> tuple[list[_Column], int, int]:
    """The columns there is room for, and the widths of the name and of the bar."""
    shown = list(_COLUMNS)
    while len(shown) > 1 and _SHORTEST_NAME + sum(c.width for c in shown) + _BAR + 1 > width:
        shown.remove(max(shown, key=lambda column: column.rank))
    rest = max(_SHORTEST_NAME + _BAR + 1, width - sum(column.width for column in shown))
    wide = min(_WIDEST_BAR, max(_BAR, rest // 3))
    return shown, rest - wide - 1, wide


def _heads(width: int) -> Sequence[Content]:
    shown, name, _ = _columns_for(width)
    titles = "".join(f"{column.title:>{column.width}}" for column in shown)
    return [Content.styled(" " * name + titles, "$muted")]


def _headline(title: str) -> Callable[[int], Sequence[Content]]:
    return lambda _width: [Content(), Content.styled(title, "bold $muted")]


def _draw(entry: CollectionEntry, most: float) -> Callable[[int], Sequence[Content]]:
    def draw(width: int) -> Sequence[Content]:
        shown, name_width, wide = _columns_for(width)
        name = Content(one_line(for_row(entry.name))).truncate(name_width, ellipsis=True, pad=True)
        numbers = "".join(f"{column.show(entry):>{column.width}}" for column in shown)
        share = max(0.0, entry.saved_seconds) / most if most > 0 else 0.0
        full, empty = bar(share, wide)
        return [Content.assemble(name, numbers, " ", (full, "$accent"), (empty, "$quiet"))]

    return draw


def document_rows(documents: Sequence[DocumentEntry], typed: str) -> list[Row]:
    """A row for each document whose name or title holds the typed words."""
    words = typed.casefold().split()
    return [
        Row(document.name, 1, _draw_document(document))
        for document in documents
        if all(word in f"{document.name} {document.title}".casefold() for word in words)
    ]


def _draw_document(document: DocumentEntry) -> Callable[[int], Sequence[Content]]:
    def draw(width: int) -> Sequence[Content]:
        title = one_line(for_row(document.title))
        # Of a path the end says more than the beginning.
        room = width * 2 // 3 if title else width
        name = _end(Content(one_line(for_row(document.name))), room)
        return [Content.assemble(name, (f"  {title}", "$muted"))]

    return draw


def _end(text: Content, width: int) -> Content:
    if text.cell_length <= width:
        return text
    cut = text
    while cut.cell_length > max(1, width - 1):
        cut = cut[1 + max(0, (cut.cell_length - width) // 2) :]
    return Content.assemble("…", cut)
