"""Where the drafted tokens of an answer came from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from sssd_chat.datastore.snapshot import Place


class DraftedToken(NamedTuple):
    """A token of an answer that was drafted and accepted."""

    at: int
    """Its index in the answer."""
    origin: str
    """The name of its source; that of a collection for the datastore."""
    place: Place | None
    """Where in the datastore it was found."""


@dataclass(frozen=True, slots=True)
class DraftedSpan:
    """Neighbouring tokens from one source, and from one document of it."""

    start: int
    """Index of the first token in the answer."""
    end: int
    """Index after the last one."""
    source: str
    document: str | None
    """The key of the document in its collection; None for sources that are no collection. That of
    an answer in the collection of chats is "chat/turn"."""


def drafted_spans(tokens: Iterable[DraftedToken]) -> list[DraftedSpan]:
    """The spans of an answer, in order. May read the lists of documents of the datastore, so it is
    not for the time between two steps."""
    spans: list[DraftedSpan] = []
    for index, origin, place in tokens:
        document = None if place is None else place.label.key
        last = spans[-1] if spans else None
        if (
            last is not None
            and last.end == index
            and (last.source, last.document) == (origin, document)
        ):
            spans[-1] = DraftedSpan(last.start, index + 1, origin, document)
        else:
            spans.append(DraftedSpan(index, index + 1, origin, document))
    return spans
