"""Messages between the pool and its processes: a line of JSON, then the texts as plain UTF-8.

Not pickle, which would let a process that a file got hold of run code in this one; and the texts
outside of the JSON, because escaping them would take longer than reading them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from sssd_chat.documents.document import Document

_ERRORS = "surrogatepass"
"""Paths may hold halves of surrogates, which stand for odd bytes in names."""


@dataclass(frozen=True, slots=True)
class Message:
    """What one side tells the other."""

    values: dict[str, Any]
    documents: Sequence[Document] = field(default=())


def send(pipe: BinaryIO, values: dict[str, Any], documents: Sequence[Document] = ()) -> None:
    """Writes a message. Raises OSError if the other side is gone."""
    texts = [document.text.encode("utf-8", _ERRORS) for document in documents]
    heads = [
        (document.title, document.notes, document.part, len(text))
        for document, text in zip(documents, texts, strict=True)
    ]
    line = json.dumps({**values, "documents": heads}, ensure_ascii=False)
    pipe.write(line.encode("utf-8", _ERRORS) + b"\n")
    for text in texts:
        pipe.write(text)
    pipe.flush()


def receive(pipe: BinaryIO) -> Message | None:
    """The next message, waited for; None if the other side is gone, even within a message."""
    line = pipe.readline()
    if not line.endswith(b"\n"):
        return None
    values = json.loads(line.decode("utf-8", _ERRORS))
    documents = []
    for title, notes, part, size in values.pop("documents"):
        text = pipe.read(size)
        if len(text) < size:
            return None
        documents.append(Document(title, text.decode("utf-8", _ERRORS), tuple(notes), part))
    return Message(values, documents)
