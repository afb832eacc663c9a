"""Bringing a datastore up to date with the texts that it is made from.

The truth is the history of chats, the store of imported texts, and the starter collections. What
of it is missing from the index is added, and what is in the index without being there is
forgotten. So an index that was lost, damaged, or never made for this vocabulary comes back, and a
text that was deleted while nobody could write does not stay.
"""

from __future__ import annotations

import itertools
import logging
import lzma
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sssd_chat.conversation.history import History, StoredAnswer
from sssd_chat.datastore.document import CHATS, STARTER, Document
from sssd_chat.datastore.starter import StarterCorpus
from sssd_chat.datastore.store import Datastore
from sssd_chat.datastore.texts import StoredText, TextStore
from sssd_chat.datastore.tidying import SEAL_TOKENS

log = logging.getLogger(__name__)

Progress = Callable[[str, int, int], None]
"""Called with a collection, how many of its missing documents are in, and how many there are."""


_BATCH_CHARACTERS = 1 << 18
"""Characters of the texts that are tokenized in one call."""
_BATCHES_AHEAD = 16
"""How far threads tokenize ahead: what becomes a segment, so that they need not wait while it is
sorted."""


class Stopped(Exception):
    """The indexing was asked to stop. What is in is in; the rest follows the next time."""


class Tokenizes(Protocol):
    """A vocabulary, as far as indexing needs it."""

    @property
    def fingerprint(self) -> str:
        """The hash that models of the same vocabulary share."""

    def tokenize(self, text: str, *, special: bool = False, add_start: bool = False) -> list[int]:
        """Token ids of a text."""

    def tokenize_arrays(self, texts: Sequence[str]) -> list[npt.NDArray[np.uint32]]:
        """The same for many texts, as arrays and faster; several threads may at once."""


def _on_progress(_collection: str, _done: int, _total: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Indexing:
    """Indexes texts for one vocabulary. Its methods raise OSError when the disk refuses,
    NotTheWriter, and Stopped."""

    store: Datastore
    vocabulary: Tokenizes
    is_stopped: Callable[[], bool] = lambda: False
    """Asked between documents."""
    progress: Progress = _on_progress
    threads: int = 1
    """How many texts are tokenized at once; more than one would hold up a chat beside it."""

    def chats(self, history: History) -> set[str]:
        """Indexes the finished answers of all chats; returns the keys of those there are."""
        keys = {chat_key(chat, turn): "" for turn, chat in history.answer_ids()}

        def missing(names: set[str]) -> Iterator[Document]:
            first = min((int(name.partition("/")[2]) for name in names), default=1)
            for answer in history.answers(after=first - 1):
                key = chat_key(answer.chat, answer.turn)
                if key in names:
                    yield Document.of(key, answer_tokens(answer, self.vocabulary), answer.created)

        self._bring(CHATS, keys, missing)
        return set(keys)

    def imports(self, texts: TextStore) -> None:
        """Indexes all imported collections, and drops the index of those that are gone."""
        names = texts.collections()
        self.drop_but(names)
        for name in names:
            self.imported(texts, name)

    def drop_but(self, names: Collection[str]) -> None:
        """Drops the index of collections that are neither among the imported ones of these names
        nor the program's own."""
        for info in self.store.collections():
            is_own = info.name == CHATS or info.name.startswith(f"{STARTER}/")
            if not is_own and info.name not in names:
                self.store.forget_collection(info.name)

    def imported(self, texts: TextStore, collection: str) -> None:
        """Indexes one imported collection."""

        def missing(names: set[str]) -> Iterator[Document]:
            return self._documents(texts.texts(collection, sorted(names)))

        self._bring(collection, texts.digests(collection), missing)

    def starters(self, corpora: Iterable[StarterCorpus], declined: set[str]) -> None:
        """Indexes the starter collections but the declined ones, and drops what is not there any
        more. A damaged one is left out."""
        wanted = [corpus for corpus in corpora if corpus.collection not in declined]
        names = {corpus.collection for corpus in wanted}
        for info in self.store.collections():
            if info.name.startswith(f"{STARTER}/") and info.name not in names:
                self.store.forget_collection(info.name)
        for corpus in wanted:
            try:
                self._starter(corpus)
            except (lzma.LZMAError, EOFError, ValueError, LookupError) as error:
                log.warning("The starter collection %s is damaged: %s", corpus.path, error)

    def _starter(self, corpus: StarterCorpus) -> None:
        digest = corpus.digest
        known = self.store.labels(corpus.collection)
        if known and all(label.digest == digest for label in known.values()):
            # Added in one piece, so there are all or none.
            return
        texts = {text.name: text for text in corpus.texts()}

        def missing(names: set[str]) -> Iterator[Document]:
            return self._documents(texts[name] for name in texts if name in names)

        self._bring(corpus.collection, dict.fromkeys(texts, digest), missing)

    def _documents(self, texts: Iterable[StoredText]) -> Iterator[Document]:
        """The documents of texts, in their order, some tokenized ahead of who takes them."""
        batches = _batches(texts)
        if self.threads == 1:
            yield from itertools.chain.from_iterable(map(self._tokenized, batches))
            return
        pool = ThreadPoolExecutor(self.threads)
        ahead: deque[Future[list[Document]]] = deque()
        try:
            for batch in batches:
                ahead.append(pool.submit(self._tokenized, batch))
                if len(ahead) > _BATCHES_AHEAD:
                    yield from ahead.popleft().result()
            while ahead:
                yield from ahead.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)

    def _tokenized(self, batch: list[StoredText]) -> list[Document]:
        arrays = self.vocabulary.tokenize_arrays([text.text for text in batch])
        return [
            Document.of(text.name, tokens, text.added, text.digest)
            for text, tokens in zip(batch, arrays, strict=True)
        ]

    def _bring(
        self,
        collection: str,
        wanted: Mapping[str, str],
        missing: Callable[[set[str]], Iterator[Document]],
    ) -> None:
        """Makes the index of a collection hold exactly `wanted` (keys and digests); `missing`
        gives the documents of some keys."""
        known = {key: label.digest for key, label in self.store.labels(collection).items()}
        stale = {key for key, digest in known.items() if wanted.get(key) != digest}
        if stale:
            self.store.forget(collection, stale)
        names = {key for key in wanted if key not in known or key in stale}
        if names:
            documents = self._until_stopped(missing(names))
            self._add(collection, documents, len(names))

    def _until_stopped(self, documents: Iterator[Document]) -> Iterator[Document]:
        for document in documents:
            if self.is_stopped():
                raise Stopped
            yield document

    def _add(self, collection: str, documents: Iterator[Document], total: int) -> None:
        """A few documents go where new answers go; many become segments at once."""
        few: list[Document] = []
        size = 0
        self.progress(collection, 0, total)
        for document in documents:
            few.append(document)
            size += len(document.tokens)
            if size > SEAL_TOKENS:
                many = itertools.chain(few, documents)
                self.store.add_many(
                    collection, many, lambda done: self.progress(collection, done, total)
                )
                return
        for document in few:
            self.store.add(collection, document)
        self.progress(collection, total, total)


def _batches(texts: Iterable[StoredText]) -> Iterator[list[StoredText]]:
    batch: list[StoredText] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text.text)
        if size >= _BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def answer_tokens(answer: StoredAnswer, vocabulary: Tokenizes) -> Sequence[int]:
    """The tokens of an answer: as they were generated where the vocabulary is the same, else made
    from its text."""
    if answer.tokens is not None and answer.fingerprint == vocabulary.fingerprint:
        return answer.tokens
    return vocabulary.tokenize(answer.text)


def chat_key(chat: int, turn: int) -> str:
    """The key of an answer in the collection of chats."""
    return f"{chat}/{turn}"


def chat_of_key(key: str) -> int:
    """The chat that a key of the collection of chats belongs to."""
    return int(key.partition("/")[0])
