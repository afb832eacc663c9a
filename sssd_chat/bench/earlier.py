"""What a datastore holds before a replay begins: starter collections, or a user's own answers."""

from __future__ import annotations

import contextlib
import itertools
from pathlib import Path

from sssd_chat.conversation.indexing import Tokenizes, answer_tokens
from sssd_chat.datastore.document import CHATS, Document
from sssd_chat.datastore.segment import Segment
from sssd_chat.datastore.starter import starter_corpora


def starter_segments(vocabulary: Tokenizes, most: int) -> list[Segment]:
    """A segment for each starter collection, of about `most` tokens in all: their first documents
    in turn, so that each has its share."""
    corpora = starter_corpora()
    chosen: dict[str, list[Document]] = {corpus.collection: [] for corpus in corpora}
    rows = itertools.zip_longest(*(list(corpus.texts()) for corpus in corpora))
    size = 0
    for row in rows:
        for corpus, text in zip(corpora, row, strict=True):
            if text is not None and size < most:
                tokens = vocabulary.tokenize(text.text)
                size += len(tokens)
                chosen[corpus.collection].append(Document.of(text.name, tokens))
    return [Segment.of(name, documents) for name, documents in chosen.items() if documents]


def own_segments(vocabulary: Tokenizes, history_file: Path, most: int) -> list[Segment]:
    """One segment of the last answers in the history, of about `most` tokens; none without any."""
    from sssd_chat.conversation.history import History

    if not most or not history_file.exists():
        return []
    with contextlib.closing(History(history_file)) as history:
        answers = [
            Document.of(str(answer.turn), answer_tokens(answer, vocabulary))
            for answer in history.answers()
        ]
    kept: list[Document] = []
    size = 0
    for document in reversed(answers):
        if size >= most:
            break
        kept.insert(0, document)
        size += len(document.tokens)
    return [Segment.of(CHATS, kept)] if kept else []
