"""Whether anything on the disk still holds a text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from sssd_chat.conversation.indexing import Tokenizes
from sssd_chat.datastore.store import Datastore
from sssd_chat.datastore.traces import Trace, text_needles, token_needles, traces_in_files
from sssd_chat.datastore.vocabularies import VocabularyFolder, vocabulary_folders
from sssd_chat.errors import UserError


class Spells(Tokenizes, Protocol):
    """A vocabulary, as far as an audit needs it."""

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """The bytes of one token."""


OpenVocabulary = Callable[[Path], AbstractContextManager[Spells]]
"""Reads the vocabulary of a model file; raises UserError."""


def audit(
    text: str, data_folder: Path, datastore_folder: Path, open_vocabulary: OpenVocabulary
) -> Iterator[Trace]:
    """Everything below `data_folder` that holds the text: as bytes, or a long enough piece of it;
    as the tokens of any vocabulary that was used; or as part of a document in a datastore, however
    it was cut into tokens there.

    Raises UserError when a file cannot be read, or a datastore not be looked into because no model
    of its vocabulary is there any more.
    """
    # What is no text in a command line, or in a paste, is kept like this.
    content = text.encode("utf-8", "surrogatepass")
    tokens: set[bytes] = set()
    unknown: list[VocabularyFolder] = []
    for vocabulary in vocabulary_folders(datastore_folder):
        model = next((Path(m) for m in reversed(vocabulary.models) if Path(m).is_file()), None)
        if model is None:
            unknown.append(vocabulary)
            continue
        with open_vocabulary(model) as spells:
            # As the beginning of a text, and as a later part of one.
            for form in (text, f" {text}", f"\n{text}"):
                tokens |= token_needles(spells.tokenize(form))
            yield from _traces_in_documents(vocabulary, content, spells)
    try:
        yield from traces_in_files(data_folder, text_needles(text), tokens)
    except OSError as error:
        raise UserError(f"{error.filename} cannot be read: {error.strerror}.") from error
    for vocabulary in unknown:
        store = Datastore(vocabulary.folder)
        is_empty = not store.collections()
        store.close()
        if not is_empty:
            raise UserError(
                f"{vocabulary.folder} cannot be looked into, since no model of its vocabulary is "
                "there any more; `sssd-chat datastore forget --all` empties it."
            )


def _traces_in_documents(
    vocabulary: VocabularyFolder, text: bytes, spells: Spells
) -> Iterator[Trace]:
    store = Datastore(vocabulary.folder)
    try:
        for collection in store.collections():
            for document in store.documents(collection.name):
                if text in b"".join(map(spells.piece, document.tokens.tolist())):
                    where = f"document {document.label.key} of the collection {collection.name}"
                    yield Trace(vocabulary.folder, f"the text, in {where}")
    finally:
        store.close()
