"""Plain text, Markdown, reStructuredText and source code: as they are, in any encoding."""

from __future__ import annotations

from collections.abc import Iterator

from sssd_chat.documents.document import Document, Source
from sssd_chat.documents.encoding import in_parts, text_pieces


def read(source: Source) -> Iterator[Document]:
    """The text itself, a long one in parts. Raises DocumentError if the file is not text."""
    yield from in_parts(source.name, text_pieces(source))
