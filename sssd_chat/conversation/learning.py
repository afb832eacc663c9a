"""What a model's answers teach later drafts: the datastore, kept up to date while a chat runs."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sssd_chat.conversation.history import History
from sssd_chat.conversation.indexing import Indexing, Stopped, Tokenizes, chat_key
from sssd_chat.datastore.document import CHATS, Document
from sssd_chat.datastore.savings import Saving, add_savings
from sssd_chat.datastore.starter import starter_corpora
from sssd_chat.datastore.store import Datastore
from sssd_chat.datastore.texts import TextStore
from sssd_chat.errors import UserError
from sssd_chat.generation.statistics import AnswerStatistics

log = logging.getLogger(__name__)

_PAUSE_SECONDS = 0.5
"""Between two rounds of upkeep."""


@dataclass(frozen=True, slots=True)
class LearningSettings:
    """What is learned, and where the truth is."""

    history: Path
    """The database of chats."""
    texts: Path
    """The database of imported texts."""
    savings: Path
    """Where is noted what each collection saved."""
    learns: bool = True
    """Whether new answers join the datastore."""
    starters: bool = True
    """Whether the collections that came with the program are drafted from."""


class Learner:
    """Looks after the datastore of the loaded model, in a thread of its own.

    At first it indexes what is missing: answers of earlier chats, imported texts, the starter
    collections. Then it merges what new answers leave behind, and sees what other programs wrote.
    """

    def __init__(self, store: Datastore, vocabulary: Tokenizes, settings: LearningSettings) -> None:
        self._store = store
        self._vocabulary = vocabulary
        self._settings = settings
        self._stopping = threading.Event()
        self._guard = threading.Lock()
        self._indexed = False
        """Whether the answers of earlier chats are in; until then new ones wait."""
        self._waiting: list[tuple[str, Document]] = []
        self._changed: dict[str, Document] = {}
        """Answers that have more of them than was learned."""
        self._problem = ""
        self._thread = threading.Thread(target=self._run, name="learning", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    @property
    def problem(self) -> str:
        """What does not work, in one sentence; empty when all is well."""
        return self._problem or self._store.problem

    def learn(self, chat: int, turn: int, tokens: Sequence[int]) -> None:
        """Lets a finished answer, already in the history, be drafted from: its exact tokens."""
        if not self._settings.learns:
            return
        self.add(CHATS, Document.of(chat_key(chat, turn), tokens, time.time()))

    def add(self, collection: str, document: Document) -> None:
        """Lets a document be drafted from whose text its owner has already kept."""
        with self._guard:
            if self._indexed or not self._store.is_writer:
                self._store.add(collection, document)
            else:
                self._waiting.append((collection, document))

    def relearn(self, chat: int, turn: int, tokens: Sequence[int]) -> None:
        """The same for an answer that was learned already and has more of it now. It takes the
        place of what is there in the next round of upkeep."""
        if self._settings.learns:
            with self._guard:
                self._changed[chat_key(chat, turn)] = Document.of(
                    chat_key(chat, turn), tokens, time.time()
                )

    def forget(self, chat: int, turns: Iterable[int]) -> None:
        """Answers that were deleted do not join the datastore any more, and are drafted from no
        more where they are not on the disk."""
        gone = {chat_key(chat, turn) for turn in turns}
        with self._guard:
            self._waiting = [
                (name, document)
                for name, document in self._waiting
                if name != CHATS or document.label.key not in gone
            ]
            for key in gone:
                self._changed.pop(key, None)
        self._store.forget_unwritten(CHATS, gone)

    def count(self, answer: AnswerStatistics) -> None:
        """Notes what each collection saved with an answer."""
        try:
            add_savings(self._settings.savings, savings_of(answer, self._collections()))
        except OSError as error:
            log.warning("What was saved could not be noted: %s", error)

    def close(self) -> None:
        """Ends the thread after its current piece of work."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
            self._learn_changed()

    # In the thread

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._round()
                self._stopping.wait(_PAUSE_SECONDS)
        except Stopped:
            pass
        except Exception:
            log.exception("looking after the datastore failed")
            self._problem = "The datastore is not looked after any more; the log has the details."

    def _round(self) -> None:
        damage = len(self._store.damage)
        self._store.refresh()
        if not self._store.is_writer:
            with self._guard:
                self._indexed = False
        elif not self._indexed:
            self._index()
        self._learn_changed()
        while not self._stopping.is_set() and self._store.tidy():
            pass
        if len(self._store.damage) > damage:
            with self._guard:
                self._indexed = False

    def _learn_changed(self) -> None:
        """A document is never changed: the old one is forgotten."""
        with self._guard:
            if not self._changed or not self._store.is_writer or not self._indexed:
                return
            changed, self._changed = self._changed, {}
        try:
            self._store.forget(CHATS, changed.keys())
        except OSError as error:
            log.warning("Longer answers could not be learned: %s", error)
            return
        for document in changed.values():
            self._store.add(CHATS, document)

    def _index(self) -> None:
        """Only a writer can; a reader finds what the writer indexed."""
        indexing = Indexing(self._store, self._vocabulary, self._stopping.is_set)
        try:
            self._index_texts(indexing)
            if self._settings.learns and self._settings.history.exists():
                with contextlib.closing(History(self._settings.history)) as history:
                    indexing.chats(history)
            self._problem = ""
        except (OSError, sqlite3.Error, UserError) as error:
            self._problem = f"Earlier texts are not drafted from: {error}"
            log.warning("%s", self._problem)
        with self._guard:
            self._indexed = True
            for collection, document in self._waiting:
                if document.label.key not in self._store.labels(collection):
                    self._store.add(collection, document)
            self._waiting = []

    def _index_texts(self, indexing: Indexing) -> None:
        declined: set[str] = set()
        if self._settings.texts.exists():
            with contextlib.closing(TextStore(self._settings.texts)) as texts:
                declined = texts.declined()
                indexing.imports(texts)
        else:
            indexing.drop_but(())
        indexing.starters(starter_corpora() if self._settings.starters else [], declined)

    def _collections(self) -> set[str]:
        return {info.name for info in self._store.collections()}


def savings_of(answer: AnswerStatistics, collections: Iterable[str]) -> dict[str, Saving]:
    """What each collection saved with an answer: its accepted tokens, and its share of the time
    that all accepted tokens spared."""
    if not answer.accepted:
        return {}
    spared = 0.0
    if answer.plain_seconds is not None:
        spared = answer.plain_seconds - answer.generation_seconds
    return {
        name: Saving(count.accepted, spared * count.accepted / answer.accepted)
        for name, count in answer.by_source.items()
        if name in set(collections) and count.accepted
    }
