"""Answers to programs that become something to draft from."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from sssd_chat.conversation.learning import Learner
from sssd_chat.datastore.document import Document
from sssd_chat.datastore.texts import StoredText, TextStore
from sssd_chat.errors import UserError

log = logging.getLogger(__name__)


class ServedTexts:
    """Keeps answers beside the imported texts: the collection `served-NAME` for the caller of that
    name, to be listed and forgotten as any other one. For one thread at a time."""

    def __init__(self, path: Path, learner: Learner) -> None:
        """`path` is the database of imported texts."""
        self._path = path
        self._learner = learner
        self._texts: TextStore | None = None

    def add(self, caller: str, name: str, text: str, tokens: Sequence[int]) -> None:
        """Keeps an answer, `name` being its own, and lets it be drafted from. A disk that refuses
        is only logged."""
        collection = f"served-{caller}"
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        now = time.time()
        try:
            if self._texts is None:
                self._texts = TextStore(self._path)
            self._texts.put(collection, [StoredText(name, text, digest, added=now)])
        except (UserError, sqlite3.Error) as error:
            log.warning("A served answer was not kept: %s", error)
            return
        # The text is the truth, so it comes first.
        self._learner.add(collection, Document.of(name, tokens, now, digest))

    def close(self) -> None:
        """Closes the database."""
        if self._texts is not None:
            self._texts.close()
