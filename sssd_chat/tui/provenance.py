"""Where the words of an answer came from, ready for the screen. No widgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.style import Style

from sssd_chat.conversation.events import Span
from sssd_chat.text import for_display, one_line

META = "drafted"
"""The key of the style's meta data that holds the number of a span."""

_CONVERSATION = "conversation"
_CHATS = "chats"
_RUNNER_UPS = "runner-ups"
_STARTER = "starter"
_LONGEST_NAME = 48


@dataclass(frozen=True, slots=True)
class Mark:
    """How the words from one kind of source look. Lines differ too, for screens without colours."""

    name: str
    colour: str
    line: str

    @property
    def style(self) -> str:
        """Colour and line."""
        return f"{self.colour} {self.line}"


_CONVERSATION_MARK = Mark(_CONVERSATION, "$source-conversation", "underline")
_CHATS_MARK = Mark(_CHATS, "$source-chats", "bold underline")
_STARTER_MARK = Mark(_STARTER, "$source-starter", "italic underline")
_RUNNER_UPS_MARK = Mark(_RUNNER_UPS, "$source-runner-ups", "italic")


def mark(source: str) -> Mark:
    """How words from `source` are marked, and what the source is called."""
    if source == _CONVERSATION:
        return _CONVERSATION_MARK
    if source == _CHATS:
        return _CHATS_MARK
    if source == _RUNNER_UPS:
        return _RUNNER_UPS_MARK
    if source.startswith(_STARTER + "/"):
        return _STARTER_MARK
    return Mark(one_line(source)[:_LONGEST_NAME], "$source-documents", "bold italic underline")


def legend(sources: Sequence[str]) -> Content:
    """The name of each source in its own colour and line; what is alike comes once."""
    marks = dict.fromkeys(sorted(map(mark, sources), key=_rank))
    if not marks:
        return Content.styled("no drafted words in the answers shown", "$muted")
    names = [Content.styled(each.name, each.style) for each in marks]
    return Content.assemble(("drafted from  ", "$muted"), Content("   ").join(names))


def _rank(one: Mark) -> tuple[int, str]:
    """The chat itself, earlier chats, the user's collections, what the model gave, what came with
    the program."""
    places = (_CONVERSATION_MARK, _CHATS_MARK, one, _RUNNER_UPS_MARK, _STARTER_MARK)
    return places.index(one), one.name


def origin(span: Span) -> str:
    """Where the words of a span came from, in words."""
    title = _shortened(span.title)
    if span.source == _CONVERSATION:
        return "from this chat"
    if span.source == _RUNNER_UPS:
        return "a runner-up: what the model itself nearly wrote before"
    if span.source == _CHATS:
        return f"from chat “{title}”" if title else "from an earlier chat"
    if span.source.startswith(_STARTER + "/"):
        return f"from the starter collection {one_line(span.source)[len(_STARTER) + 1 :]}"
    return f"from {title}" if title else f"from the collection {mark(span.source).name}"


def _shortened(title: str) -> str:
    title = one_line(title)
    return title if len(title) <= _LONGEST_NAME else title[: _LONGEST_NAME - 1] + "…"


def with_new(spans: tuple[Span, ...], new: Sequence[Span]) -> tuple[Span, ...]:
    """The spans so far with those of a further step, the first of which may be the last one
    grown."""
    if spans and new and new[0].start == spans[-1].start:
        spans = spans[:-1]
    return (*spans, *new)


def marked(text: str, spans: Sequence[Span], current: int | None = None) -> Content:
    """The text of an answer as it was written, its drafted spans marked, the current one inverted.

    Spans count characters of `text`; what is not for the terminal is left out piece by piece."""
    parts: list[Content | str] = []
    position = 0
    for number, span in enumerate(spans):
        if span.start < position or span.end > len(text):
            continue
        parts.append(for_display(text[position : span.start]))
        piece = Content.styled(for_display(text[span.start : span.end]), mark(span.source).style)
        piece = piece.stylize(Style.from_meta({META: number}))
        parts.append(piece.stylize("reverse") if number == current else piece)
        position = span.end
    parts.append(for_display(text[position:]))
    return Content.assemble(*parts).rstrip()
