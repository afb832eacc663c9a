"""Two lines below the transcript: how each source is marked, and what the marked words are."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from sssd_chat.conversation.events import Span
from sssd_chat.tui.provenance import legend, mark, origin


class SourceBar(Static):
    """Shown while drafted words are marked by their sources."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._sources: list[str] = []
        self._place = _HINT

    def name_sources(self, spans: Sequence[Span]) -> None:
        """Adds the sources of these spans to the legend."""
        new = {span.source for span in spans} - set(self._sources)
        if new or not self._sources:
            self._sources += new
            self._show()

    def name_span(self, spans: Sequence[Span], number: int | None) -> None:
        """Says where the words of a span came from; with None, how to choose one."""
        self._place = _HINT
        if number is not None:
            span = spans[number]
            self._place = Content.assemble(
                (f"{number + 1} of {len(spans)}  {_keys(span)}", "$muted"),
                Content.styled(origin(span), mark(span.source).colour),
            )
        self._show()

    def _show(self) -> None:
        self.update(Content("\n").join([legend(self._sources), self._place]))


_HINT = Content.styled("tab, shift+tab go from one to the next", "$muted")


def _keys(span: Span) -> str:
    return "o opens  " if span.document else ""
