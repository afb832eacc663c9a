"""Which characters of an answer were drafted, and from where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from sssd_chat.conversation.history.origins import StoredSpan
from sssd_chat.generation.provenance import DraftedToken
from sssd_chat.generation.tokenizer import PieceDecoder


class SpanTracker:
    """Follows an answer token by token.

    A character that is divided over tokens belongs to the one that completes it. What is thought
    before the answer, and what is not final yet, is in no span.
    """

    def __init__(self, piece: Callable[[int], bytes], begun: str = "") -> None:
        """`piece` gives the bytes of a token; `begun` is what of the answer was there before, as
        the model wrote it."""
        self._piece = piece
        self._decoder = PieceDecoder()
        self._first = len(begun)
        self._ends: list[int] = []
        """For each token the characters of the answer, as the model wrote it, up to its end."""
        self._next = 0
        """The first drafted token that is in no span yet."""
        self._last: StoredSpan | None = None
        self._text = 0
        self._shift = 0

    def prime(self, tokens: Iterable[int]) -> None:
        """Takes in the tokens that were there before, whose last character may be incomplete."""
        for token in tokens:
            self._decoder.feed(self._piece(token))

    def feed(
        self, tokens: Iterable[int], drafted: Sequence[DraftedToken], written: int, text: int
    ) -> tuple[StoredSpan, ...]:
        """The spans that became known with the tokens of a step, without documents: looking for
        these takes time. One that begins where the last one began replaces it.

        `drafted` are the drafted tokens so far; `written` characters of the answer as the model
        wrote it are final, the last `text` of them after the thinking."""
        for token in tokens:
            before = self._ends[-1] if self._ends else self._first
            self._ends.append(before + len(self._decoder.feed(self._piece(token))))
        self._text, self._shift = text, written - text
        if not text:
            return ()
        spans: list[StoredSpan] = []
        while self._next < len(drafted) and self._ends[drafted[self._next].at] <= written:
            span = self._span(drafted[self._next])
            self._next += 1
            if span is None:
                continue
            last = self._last
            if last is not None and (last.end, last.source) == (span.start, span.source):
                if spans:
                    spans.pop()
                span = replace(last, end=span.end)
            spans.append(span)
            self._last = span
        return tuple(spans)

    def all_spans(self, drafted: Iterable[DraftedToken]) -> tuple[StoredSpan, ...]:
        """All spans, with the documents that they came from. May read the lists of documents of
        the datastore, so it is not for the time between two steps."""
        spans: list[StoredSpan] = []
        for token in drafted:
            span = self._span(token)
            if span is None:
                continue
            document = "" if token.place is None else token.place.label.key
            last = spans[-1] if spans else None
            place = (span.start, span.source, document)
            if last is not None and (last.end, last.source, last.document) == place:
                spans[-1] = replace(last, end=span.end)
            else:
                spans.append(replace(span, document=document))
        return tuple(spans)

    def _span(self, token: DraftedToken) -> StoredSpan | None:
        """Where a token stands in the text; None when it is not in it."""
        end = min(self._ends[token.at] - self._shift, self._text)
        start = max(0, (self._ends[token.at - 1] if token.at else self._first) - self._shift)
        return StoredSpan(start, end, token.origin) if start < end else None
