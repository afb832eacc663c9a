"""Plain text, Markdown, reStructuredText and source code: as they are, in any encoding."""

from __future__ import annotations

from collections.abc import Iterator

from sssd_chat.documents.document import Document, DocumentError, Source
from sssd_chat.documents.encoding import in_parts, text_pieces

_RTF = b"{\\rtf"
"""The only common format of word processors that passes for text and is none to a reader."""


def read(source: Source) -> Iterator[Document]:
    """The text itself, a long one in parts. Raises DocumentError if the file is not text."""
    source.file.seek(0)
    if source.file.read(len(_RTF)) == _RTF:
        raise DocumentError("is RTF, which is not read; save it as DOCX or as text")
    yield from in_parts(source.name, text_pieces(source))
