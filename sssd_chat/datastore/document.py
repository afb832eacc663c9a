"""What the datastore keeps: documents of tokens, in named collections."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sssd_chat.datastore.suffix_array import END, TOKEN_BYTES, Tokens

CHATS = "chats"
"""The collection of the user's own answers."""
STARTER = "starter"
"""Collections that came with the program are named `starter/…`."""


@dataclass(frozen=True, slots=True)
class Label:
    """Which document it is."""

    key: str
    """Its name within the collection. Whoever adds another document of that name forgets the
    old one first."""
    added: float
    """When it was written or imported, in seconds since 1970."""
    digest: str = ""
    """What its text or file hashed to, where the owner of the text wants to know."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text as the model's tokens."""

    label: Label
    tokens: Tokens

    @staticmethod
    def of(key: str, tokens: Iterable[int], added: float = 0.0, digest: str = "") -> Document:
        """A document of token ids. Raises ValueError when one is negative or too large."""
        values = (
            np.asarray(tokens) if isinstance(tokens, np.ndarray) else np.fromiter(tokens, np.int64)
        )
        if len(values) and not 0 <= int(values.min()) <= int(values.max()) < END:
            raise ValueError(f"document {key!r} holds a number that is no token")
        return Document(Label(key, added, digest), values.astype(np.uint32))

    @property
    def stored_bytes(self) -> int:
        """Bytes of its tokens as the index holds them."""
        return (len(self.tokens) + 1) * TOKEN_BYTES


def joined(documents: Iterable[Document]) -> tuple[Tokens, Tokens]:
    """The text of a segment (END after each document) and where each document starts in it; the
    last entry of the starts is the length of the text."""
    parts: list[Tokens] = []
    starts = [0]
    end = np.array([END], np.uint32)
    for document in documents:
        parts += [document.tokens, end]
        starts.append(starts[-1] + len(document.tokens) + 1)
    text = np.concatenate(parts) if parts else np.empty(0, np.uint32)
    return text, np.array(starts, np.uint32)
