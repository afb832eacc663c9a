"""The index of a collection for one vocabulary, made from its texts."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sssd_chat.conversation.corpus.report import ImportProgress, Stage
from sssd_chat.conversation.indexing import Indexing, Stopped, Tokenizes
from sssd_chat.datastore.info import NotTheWriter
from sssd_chat.datastore.store import Datastore
from sssd_chat.datastore.texts import TextStore
from sssd_chat.errors import UserError

_MOST_THREADS = 8
_WAIT_SECONDS = 30.0
"""How long another program that writes to the datastore is asked to step back."""


class _Counting:
    """A vocabulary that counts what it did."""

    def __init__(self, vocabulary: Tokenizes) -> None:
        self.tokens = 0
        self._vocabulary = vocabulary
        self._lock = threading.Lock()

    @property
    def fingerprint(self) -> str:
        return self._vocabulary.fingerprint

    def tokenize(self, text: str, *, special: bool = False, add_start: bool = False) -> list[int]:
        return self._vocabulary.tokenize(text, special=special, add_start=add_start)

    def tokenize_arrays(self, texts: Sequence[str]) -> list[npt.NDArray[np.uint32]]:
        arrays = self._vocabulary.tokenize_arrays(texts)
        with self._lock:
            self.tokens += sum(map(len, arrays))
        return arrays


def tokenizing_threads() -> int:
    """How many texts are tokenized at once where nothing else runs."""
    return min(os.cpu_count() or 1, _MOST_THREADS)


def index_collection(
    texts: TextStore,
    collection: str,
    folder: Path,
    vocabulary: Tokenizes,
    *,
    threads: int = 1,
    cancelled: threading.Event | None = None,
    on_progress: Callable[[ImportProgress], None] = lambda _: None,
) -> int | None:
    """Brings the index in `folder` up to date with a collection; returns the tokens of the whole
    collection, or None when it was cancelled, with what is done kept.

    Raises UserError when the index cannot be written. The texts are not touched, so that it can be
    done again at any time, and is done when a chat with the model begins.
    """
    counting = _Counting(vocabulary)
    started = time.monotonic()
    taken = total = 0

    def begin(_collection: str, _safe: int, missing: int) -> None:
        nonlocal total
        total = missing

    def is_stopped() -> bool:
        # Asked for each document, so it knows more than is told about those that are safe.
        nonlocal taken
        taken += 1
        seconds = time.monotonic() - started
        share = min(1.0, taken / total) if total else 1.0
        on_progress(ImportProgress(Stage.INDEXING, taken, total, share, counting.tokens, seconds))
        return cancelled is not None and cancelled.is_set()

    with contextlib.closing(Datastore(folder, _WAIT_SECONDS)) as store:
        try:
            if not store.is_writer:
                raise NotTheWriter
            Indexing(store, counting, is_stopped, begin, threads).imported(texts, collection)
        except Stopped:
            return None
        except NotTheWriter:
            raise UserError(
                "The texts are kept but not indexed yet, since another program is writing to the "
                "datastore: they are indexed when a chat begins after that has ended."
            ) from None
        except OSError as error:
            raise UserError(
                f"The texts are kept but not indexed yet, since {folder} cannot be written: "
                f"{error.strerror or error}."
            ) from error
        return next((i.tokens for i in store.collections() if i.name == collection), 0)
