"""Forgetting everywhere: the truth first, then everything that was made from it.

A crash in the middle leaves nothing that comes back: an index drops what the truth does not hold
any more when it is brought up to date, and forgetting again finishes what was begun.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Sequence

from sssd_chat import paths
from sssd_chat.conversation.history import History
from sssd_chat.conversation.indexing import chat_key, chat_of_key
from sssd_chat.conversation.progress import Progress, nobody
from sssd_chat.conversation.state_cache import StateCache
from sssd_chat.datastore.document import CHATS, STARTER
from sssd_chat.datastore.info import NotTheWriter
from sssd_chat.datastore.savings import forget_savings
from sssd_chat.datastore.store import Datastore
from sssd_chat.datastore.texts import TextStore
from sssd_chat.datastore.vocabularies import vocabulary_folders
from sssd_chat.errors import UserError
from sssd_chat.generation.forgetting import forget_learned_texts

_WAIT_SECONDS = 60.0
"""How long another program that writes to the datastore is asked to step back."""


def forget_chat(chat: int) -> None:
    """Forgets one chat; see `forget_chats`."""
    forget_chats([chat])


def forget_chats(chats: Sequence[int], progress: Progress = nobody) -> None:
    """Deletes chats for real; when this returns, nothing on the disk holds their text.

    Raises NoSuchChat, and then nothing is deleted; UserError when something could not be erased
    yet: the chats are deleted then, and forgetting again finishes it."""
    gone = set(chats)

    def forget(store: Datastore) -> None:
        store.forget(CHATS, [key for key in store.labels(CHATS) if chat_of_key(key) in gone])

    with contextlib.closing(History(paths.history_file())) as history:
        for chat in gone:
            history.chat(chat)
        problem = _problem_of(lambda: history.delete_chats(chats))
    _forget_states(gone)
    _forget_everywhere(forget, progress)
    if problem is not None:
        raise problem


def forget_learned_turns(chat: int, turns: Collection[int]) -> None:
    """Forgets what was made from turns that are no longer in the history. Raises UserError when
    something could not be erased yet."""
    keys = [chat_key(chat, turn) for turn in turns]
    _forget_states([chat])
    _forget_everywhere(lambda store: store.forget(CHATS, keys))


def _forget_states(chats: Iterable[int]) -> None:
    states = StateCache(paths.state_cache_folder(), 0)

    def forget() -> None:
        for chat in chats:
            states.forget(chat)

    _erase(forget)


def forget_collection(collection: str, progress: Progress = nobody) -> int:
    """Forgets an imported collection, or a starter collection, which does not come back by itself
    then; returns how many documents it had.

    Raises UserError when there is none of that name, or something could not be erased yet."""
    if collection == CHATS:
        raise UserError(
            "The collection chats is made from the chats that are kept: forget single ones with "
            "--chat ID, or everything with --all."
        )
    with contextlib.closing(TextStore(paths.texts_file())) as texts:
        count = len(texts.digests(collection))
        indexed = _documents_indexed(collection)
        if not count and not indexed:
            raise UserError(
                f"There is no collection {collection}; `sssd-chat datastore list` shows those "
                "there are."
            )
        if collection.startswith(f"{STARTER}/"):
            texts.decline([collection])
        texts.remove_collection(collection)
        texts.erase()
    _forget_sources(collection)
    _erase(lambda: forget_savings(paths.savings_file(), [collection]))
    _forget_everywhere(lambda store: store.forget_collection(collection), progress)
    return count or indexed


def forget_document(name: str, collection: str | None = None, progress: Progress = nobody) -> int:
    """Forgets an imported document with all its parts, in one collection or in all; returns how
    many parts there were. Raises UserError as `forget_collection` does."""
    count = 0
    with contextlib.closing(TextStore(paths.texts_file())) as texts:
        names = [collection] if collection is not None else texts.collections()
        found = {place: texts.parts(place, name) for place in names}
        for place, parts in found.items():
            count += len(parts)
            texts.remove(place, parts)
        if not count:
            where = "" if collection is None else f" in the collection {collection}"
            raise UserError(f"There is no document {name}{where}.")
        texts.erase()
    for place, parts in found.items():
        _forget_sources(place, parts)

    def forget(store: Datastore) -> None:
        for place, parts in found.items():
            store.forget(place, parts)

    _forget_everywhere(forget, progress)
    return count


def forget_parts(collection: str, parts: Sequence[str]) -> None:
    """Forgets documents of one collection, given by the names of all their parts. Raises UserError
    when something could not be erased yet."""
    with contextlib.closing(TextStore(paths.texts_file())) as texts:
        with texts.transaction():
            texts.remove(collection, parts)
        texts.erase()
    _forget_sources(collection, parts)
    _forget_everywhere(lambda store: store.forget(collection, parts))


def forget_everything() -> None:
    """Forgets all chats, all imported texts and everything that was made from them. Raises
    UserError when something could not be erased yet."""
    with contextlib.closing(History(paths.history_file())) as history:
        problem = _problem_of(history.delete_everything)
    with contextlib.closing(TextStore(paths.texts_file())) as texts:
        texts.remove_everything()
        texts.erase()
    _erase(StateCache(paths.state_cache_folder(), 0).clear)
    _erase(lambda: forget_savings(paths.savings_file()))
    _forget_everywhere(Datastore.forget_everything)
    if problem is not None:
        raise problem


def _problem_of(erase: Callable[[], None]) -> UserError | None:
    """What the history could not erase yet; to be told after the rest was forgotten."""
    try:
        erase()
    except UserError as error:
        return error
    return None


def _forget_sources(collection: str, parts: Sequence[str] | None = None) -> None:
    """Kept answers no longer say that a piece of them came from there."""
    if paths.history_file().exists():
        with contextlib.closing(History(paths.history_file())) as history:
            history.forget_sources(collection, parts)


def _forget_everywhere(forget: Callable[[Datastore], object], progress: Progress = nobody) -> None:
    """Takes texts out of the experience, and out of the index of every vocabulary."""
    _erase(lambda: forget_learned_texts(paths.experience_folder()))
    vocabularies = vocabulary_folders(paths.datastore_folder())
    for done, vocabulary in enumerate(vocabularies):
        progress(done, len(vocabularies))
        store = Datastore(vocabulary.folder, _WAIT_SECONDS)
        try:
            forget(store)
        except NotTheWriter:
            raise UserError(
                store.problem
                or "Another program is writing to the datastore and does not step back: it is "
                "forgotten there when that program has ended and this is done again."
            ) from None
        except OSError as error:
            raise UserError(f"{vocabulary.folder} cannot be written: {error.strerror}.") from error
        finally:
            store.close()
    progress(len(vocabularies), len(vocabularies))


def _erase(erase: Callable[[], None]) -> None:
    try:
        erase()
    except OSError as error:
        raise UserError(f"{error.filename} could not be erased: {error.strerror}.") from error


def _documents_indexed(collection: str) -> int:
    most = 0
    for vocabulary in vocabulary_folders(paths.datastore_folder()):
        store = Datastore(vocabulary.folder)
        most = max(most, len(store.labels(collection)))
        store.close()
    return most
