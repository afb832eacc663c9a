"""HTML: the text that a reader of the page sees."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sssd_chat.documents.document import Document, Source
from sssd_chat.documents.encoding import text_pieces
from sssd_chat.documents.web_text import text_of_page

_CHARSET = re.compile(
    rb"""<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)=["']?([\w-]{2,30})""", re.I
)
_HEAD = 4096


def read(source: Source) -> Iterator[Document]:
    """The page as one document, under the title that it gives itself."""
    source.file.seek(0)
    declared = _CHARSET.search(source.file.read(_HEAD))
    charset = declared[1].decode("ascii") if declared else None
    page = text_of_page(text_pieces(source, charset))
    yield Document(page.title or source.name, page.text + "\n")
