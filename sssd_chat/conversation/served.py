"""Answers to programs that become something to draft from."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sssd_chat.conversation.learning import Learner
from sssd_chat.datastore.document import Document
from sssd_chat.datastore.texts import StoredText, TextStore
from sssd_chat.errors import UserError

log = logging.getLogger(__name__)

_MOST_WAITING = 256


@dataclass(frozen=True, slots=True)
class _Served:
    collection: str
    name: str
    text: str
    tokens: Sequence[int]


class ServedTexts:
    """Keeps answers beside the imported texts, in a thread of its own: the collection
    `served-NAME` for the caller of that name, to be listed and forgotten as any other one."""

    def __init__(self, texts: Path, learner: Learner) -> None:
        """`texts` is the database of imported texts."""
        self._path = texts
        self._learner = learner
        self._waiting: queue.Queue[_Served | None] = queue.Queue(_MOST_WAITING)
        self._thread = threading.Thread(target=self._run, name="served texts", daemon=True)
        self._thread.start()

    def add(self, caller: str, name: str, text: str, tokens: Sequence[int]) -> None:
        """Keeps an answer, `name` being its own; returns at once. When the disk is far behind,
        answers are left out."""
        with contextlib.suppress(queue.Full):
            self._waiting.put_nowait(_Served(f"served-{caller}", name, text, tokens))

    def close(self) -> None:
        """Returns when everything is kept."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            with contextlib.closing(TextStore(self._path)) as texts:
                while (served := self._waiting.get()) is not None:
                    self._keep(texts, served)
        except UserError as error:
            log.warning("Served answers are not kept: %s", error)
            while self._waiting.get() is not None:
                pass

    def _keep(self, texts: TextStore, served: _Served) -> None:
        digest = hashlib.sha256(served.text.encode("utf-8", "surrogatepass")).hexdigest()
        now = time.time()
        try:
            texts.put(served.collection, [StoredText(served.name, served.text, digest, added=now)])
        except sqlite3.Error as error:
            log.warning("A served answer was not kept: %s", error)
            return
        # The text is the truth, so it comes first.
        document = Document.of(served.name, served.tokens, now, digest)
        self._learner.add(served.collection, document)
