"""The rows of the list of chats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from textual.content import Content

from sssd_chat.text import counted, for_row, one_line
from sssd_chat.tui.widgets.row_list import Row

if TYPE_CHECKING:
    from sssd_chat.conversation.chat_library import ChatEntry, DayGroup

_TURNS_WIDTH, _WHEN_WIDTH = 11, 11
_NARROW = 56
"""Below this width the number of turns is left out."""
_BEFORE_MATCH = 16
"""Cells of an excerpt that are left before the first match where there is no room for more."""

_MATCH = "bold underline $accent"


def chat_rows(groups: Iterable[DayGroup], current: int | None, today: date) -> list[Row]:
    """A headline for each group, a row for each chat; the `current` one is marked."""
    rows: list[Row] = []
    for group in groups:
        rows.append(Row(None, 1 if not rows else 2, _headline(group.title, bool(rows))))
        for entry in group.chats:
            lines = 1 if entry.excerpt in ("", entry.title) else 2
            rows.append(Row(entry.id, lines, _draw(entry, entry.id == current, today)))
    return rows


def without(rows: Sequence[Row], chat: int) -> list[Row]:
    """The rows without those of a chat; a headline over nothing goes too."""
    left = [row for row in rows if row.key != chat]
    after = [*left[1:], None]
    return [
        row
        for row, following in zip(left, after, strict=True)
        if row.key is not None or (following is not None and following.key is not None)
    ]


def _headline(title: str, has_space: bool) -> Callable[[int], Sequence[Content]]:
    def draw(_width: int) -> Sequence[Content]:
        return [*[Content()] * has_space, Content.styled(title, "bold $muted")]

    return draw


def _draw(entry: ChatEntry, is_current: bool, today: date) -> Callable[[int], Sequence[Content]]:
    def draw(width: int) -> Sequence[Content]:
        mark = Content.styled("● " if is_current else "  ", "$accent")
        turns = f"{counted(entry.turns, 'turn'):>{_TURNS_WIDTH}}" if width >= _NARROW else ""
        right = f"{turns}{when(entry.updated, today):>{_WHEN_WIDTH}}"
        room = max(4, width - 2 - len(right) - 1)
        title = _title(entry).truncate(room, ellipsis=True, pad=True)
        first = Content.assemble(mark, title, " ", (right, "$muted"))
        excerpt = _excerpt(entry)
        return [first, Content.assemble("    ", _around_match(excerpt, width - 4))]

    return draw


def _title(entry: ChatEntry) -> Content:
    if entry.excerpt and entry.excerpt == entry.title:
        marked = _marked(entry.title, entry.matches)
        if marked.plain.strip():
            return marked
    return Content(one_line(for_row(entry.title)) or "Untitled chat")


def _excerpt(entry: ChatEntry) -> Content:
    """The excerpt with its matches marked; nothing when the match is in the title."""
    if entry.excerpt == entry.title:
        return Content()
    return _marked(entry.excerpt, entry.matches).stylize_before("$muted")


def _marked(text: str, matches: Sequence[tuple[int, int]]) -> Content:
    """The text with its matches marked, whose places are those in the text as it was."""
    parts: list[str | tuple[str, str]] = []
    rest = 0
    for begin, end in matches:
        parts += [for_row(text[rest:begin]), (for_row(text[begin:end]), _MATCH)]
        rest = end
    return Content.assemble(*parts, for_row(text[rest:]))


def _around_match(excerpt: Content, width: int) -> Content:
    """The excerpt from where the first match is seen."""
    marks = [span for span in excerpt.spans if "bold" in str(span.style)]
    first = min((span.start for span in marks), default=0)
    last = min((span.end for span in marks), default=0)
    if excerpt[:last].cell_length <= width:
        return excerpt
    return Content.styled("…", "$muted") + excerpt[max(0, first - _BEFORE_MATCH) :]


def when(updated: float, today: date) -> str:
    """When a chat was used: a time, a day of this week, a date."""
    moment = datetime.fromtimestamp(updated)
    if moment.date() >= today - timedelta(days=1):
        return f"{moment:%H:%M}"
    if moment.date() >= today - timedelta(days=today.weekday()):
        return f"{moment:%a %H:%M}"
    return f"{moment.day} {moment:%b}"
