"""`sssd-chat datastore rebuild` and `compact`: indexes written anew."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sssd_chat import paths
from sssd_chat.cli import options as shared
from sssd_chat.cli.console import say, show_status
from sssd_chat.cli.datastore_show import count_segments, model_names
from sssd_chat.errors import UserError
from sssd_chat.text import counted

if TYPE_CHECKING:
    from sssd_chat.datastore.store import Datastore

_WAIT_SECONDS = 60.0
"""How long another program that writes to the datastore is asked to step back."""


def rebuild(options: argparse.Namespace) -> int:
    """`rebuild`: drops the index of a model and makes it anew from the texts."""
    from sssd_chat.conversation.history import History
    from sssd_chat.conversation.indexing import Indexing
    from sssd_chat.datastore.starter import starter_corpora
    from sssd_chat.datastore.texts import TextStore
    from sssd_chat.datastore.vocabularies import note_model
    from sssd_chat.llama.model import open_vocabulary

    config = shared.load_settings()
    model = shared.model_path(options, config)
    wants_starters = config.datastore.starter if options.starter is None else options.starter
    with (
        open_vocabulary(model) as vocabulary,
        contextlib.closing(History(paths.history_file())) as history,
        contextlib.closing(TextStore(paths.texts_file())) as texts,
    ):
        note_model(paths.datastore_folder(), vocabulary.fingerprint, str(model))
        folder = paths.datastore_folder() / vocabulary.fingerprint
        with _written(folder) as store:
            texts.welcome()
            store.forget_everything()
            indexing = Indexing(store, vocabulary, progress=_progress)
            indexing.chats(history)
            indexing.imports(texts)
            indexing.starters(starter_corpora() if wants_starters else [], set())
            _progress("", 0, 0)
            store.compact()
            infos = store.collections()
    documents, tokens = sum(i.documents for i in infos), sum(i.tokens for i in infos)
    held = f"{counted(documents, 'document')} with {counted(tokens, 'token')}"
    say(f"{held} {'is' if documents == 1 else 'are'} indexed for {model.name}.")
    return 0


def compact(_options: argparse.Namespace) -> int:
    """`compact`: one segment for each collection of each index."""
    from sssd_chat.datastore.vocabularies import vocabulary_folders

    for vocabulary in vocabulary_folders(paths.datastore_folder()):
        with _written(vocabulary.folder) as store:
            before = count_segments(store)
            store.compact()
            after = count_segments(store)
            say(f"{model_names(vocabulary.models)}: {counted(before, 'segment')} became {after}.")
    return 0


@contextlib.contextmanager
def _written(folder: Path) -> Iterator[Datastore]:
    """An index opened for writing. Raises UserError when another program does not step back, or
    the disk refuses."""
    from sssd_chat.datastore.info import NotTheWriter
    from sssd_chat.datastore.store import Datastore

    store = Datastore(folder, _WAIT_SECONDS)
    try:
        yield store
    except NotTheWriter:
        raise UserError(
            store.problem
            or "Another program is writing to the datastore and does not step back; close it first."
        ) from None
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror}.") from error
    finally:
        store.close()


def _progress(collection: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        show_status(f"indexing {collection}: {done:,} of {total:,}" if total else "")
