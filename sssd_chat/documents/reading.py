"""Reads one file in this process: the right reader, and every failure as one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sssd_chat.documents.document import PART_CHARACTERS, Document, DocumentError, Source
from sssd_chat.documents.encoding import in_parts
from sssd_chat.documents.formats import format_of
from sssd_chat.text import one_line


def read_source(source: Source) -> Iterator[Document]:
    """The documents of a file, each no longer than about PART_CHARACTERS, without empty ones.

    Text is valid Unicode without zero characters. Raises DocumentError, possibly after some
    documents, and MemoryError. Nothing limits the time here: `read_files` does.
    """
    format_ = format_of(source.name)
    found = False
    try:
        for document in format_.reader().read(source):
            for part in _finished(document, source):
                found = True
                yield part
    except (DocumentError, MemoryError):
        raise
    except RecursionError:
        raise DocumentError("is nested too deeply to be read") from None
    except Exception as error:
        # Libraries raise anything at all about damaged files, from KeyError to struct.error.
        detail = one_line(str(error))[:100].rstrip(".") or type(error).__name__
        raise DocumentError(f"is damaged or no {format_.name} file: {detail}") from error
    if not found:
        raise DocumentError("holds no text")


def _finished(document: Document, source: Source) -> Iterator[Document]:
    text = _valid(document.text)
    if not text or text.isspace():
        return
    title = one_line(_valid(document.title))[:200] or one_line(source.name)
    if len(text) <= 2 * PART_CHARACTERS:
        yield replace(document, title=title, text=text)
    else:
        yield from in_parts(title, [text], document.notes)


def _valid(text: str) -> str:
    if "\0" in text:
        text = text.replace("\0", "")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        text.encode()
    except UnicodeEncodeError:
        # JSON and broken PDF fonts may give halves of surrogate pairs.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
