"""Mailboxes: each message of an mbox file is a document."""

from __future__ import annotations

from collections.abc import Iterator

from sssd_chat.documents.document import Document, DocumentError, Source
from sssd_chat.documents.readers.mail import message_document

_START = b"From "


def read(source: Source) -> Iterator[Document]:
    """The messages one by one, so that a large mailbox is never in memory. Messages that cannot be
    read are counted and noted. Raises DocumentError if the file is no mailbox."""
    damaged = number = 0
    for number, message in enumerate(_messages(source), start=1):
        try:
            yield message_document(message, f"{source.name}, message {number}")
        except MemoryError:
            raise
        except Exception:  # the e-mail parser raises anything about a damaged message
            damaged += 1
    if damaged and damaged == number:
        raise DocumentError("is damaged: none of its messages can be read")
    if damaged:
        source.notes.append(f"{damaged} of {number} messages are damaged and left out")


def _messages(source: Source) -> Iterator[bytes]:
    source.file.seek(0)
    lines: list[bytes] = []
    started = False
    blank = True
    for line in source.file:
        if blank and line.startswith(_START):
            if started:
                yield b"".join(lines)
            started, lines = True, []
        elif started:
            # Writers of mailboxes put ">" before what would look like a new message.
            lines.append(line[1:] if line.lstrip(b">").startswith(_START) else line)
        elif line.strip():
            raise DocumentError('is no mailbox: it does not start with "From "')
        blank = not line.strip()
    if started:
        yield b"".join(lines)
