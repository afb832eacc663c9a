"""What drafts come from, for a list of it.

Everything reads or writes the disk: not for the thread of the screen.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from sssd_chat import paths
from sssd_chat.conversation.history import History
from sssd_chat.conversation.lifetime import weeks_of
from sssd_chat.conversation.progress import Progress, nobody
from sssd_chat.conversation.shown import WeekSpeed
from sssd_chat.errors import UserError, reason


@dataclass(frozen=True, slots=True)
class CollectionEntry:
    """A collection, over the indexes of all vocabularies."""

    name: str
    documents: int
    tokens: int
    """Of the index that has most of them: each vocabulary has one of its own."""
    bytes: int
    """Of all indexes."""
    saved_tokens: int
    """Accepted tokens that came from it."""
    saved_seconds: float
    """The time that they spared."""
    kind: str
    """"chats", "starter" (came with the program) or "imported"."""


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A document of an imported collection."""

    name: str
    """Where it came from; by this it is forgotten."""
    title: str


class DatastoreLibrary:
    """The datastore of this user. Any thread may use it."""

    def collections(self) -> list[CollectionEntry]:
        """All collections, by name. Raises UserError when the datastore cannot be read."""
        # Not imported before it is wanted: the screen must not wait for it.
        from sssd_chat.datastore.savings import Saving, read_savings
        from sssd_chat.datastore.store import Datastore
        from sssd_chat.datastore.vocabularies import vocabulary_folders

        savings = read_savings(paths.savings_file())
        found: dict[str, CollectionEntry] = {}
        for vocabulary in vocabulary_folders(paths.datastore_folder()):
            with contextlib.closing(Datastore(vocabulary.folder)) as store:
                infos = store.collections()
                if store.problem and not infos:
                    raise UserError(store.problem)
            for info in infos:
                saving = savings.get(info.name, Saving())
                old = found.get(info.name)
                found[info.name] = CollectionEntry(
                    info.name,
                    max(info.documents, old.documents if old else 0),
                    max(info.tokens, old.tokens if old else 0),
                    info.stored_bytes + (old.bytes if old else 0),
                    saving.tokens,
                    saving.seconds,
                    _kind(info.name),
                )
        return [found[name] for name in sorted(found)]

    def documents(self, collection: str) -> list[DocumentEntry]:
        """The documents of an imported collection, by name. Raises UserError."""
        from sssd_chat.datastore.texts import TextStore, whole_name

        with contextlib.closing(TextStore(paths.texts_file())) as texts:
            titles = texts.titles(collection)
        names = dict.fromkeys(map(whole_name, titles))
        return [DocumentEntry(name, titles.get(name, "")) for name in names]

    def forget_collection(self, name: str, progress: Progress = nobody) -> None:
        """Forgets a collection for real; returns when nothing on the disk holds it. Raises
        UserError."""
        from sssd_chat.conversation.forgetting import forget_collection

        with _as_sentence():
            forget_collection(name, progress)

    def forget_document(self, name: str, collection: str, progress: Progress = nobody) -> None:
        """The same for a document of an imported collection."""
        from sssd_chat.conversation.forgetting import forget_document

        with _as_sentence():
            forget_document(name, collection, progress)

    def forget_chat(self, chat: int, progress: Progress = nobody) -> None:
        """The same for a chat."""
        from sssd_chat.conversation.forgetting import forget_chats

        with _as_sentence():
            forget_chats([chat], progress)

    def speed_curve(self) -> tuple[WeekSpeed, ...]:
        """How fast answers came, week by week. Raises UserError."""
        if not paths.history_file().exists():
            return ()
        with _as_sentence(), contextlib.closing(History(paths.history_file())) as history:
            return weeks_of(history.figures_by_week())


def _kind(name: str) -> str:
    from sssd_chat.datastore.document import CHATS, STARTER

    if name == CHATS:
        return "chats"
    return "starter" if name.startswith(f"{STARTER}/") else "imported"


@contextlib.contextmanager
def _as_sentence() -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise UserError(f"The disk refuses: {reason(error)}.") from error
