"""LaTeX: the source between \\begin{document} and \\end{document}, as it was written.

The preamble is left out: it is the same in all papers of a person, and nobody reads it. A file
without these marks, a chapter or a style, is taken whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sssd_chat.documents.document import Document, Source
from sssd_chat.documents.encoding import whole_text

_TITLE = re.compile(r"\\title\{([^{}]{1,300})\}")


def read(source: Source) -> Iterator[Document]:
    """The source of the body, under the title of the paper."""
    text = whole_text(source)
    title = _TITLE.search(text)
    preamble, begin, body = text.partition("\\begin{document}")
    body = body.partition("\\end{document}")[0] if begin else preamble
    yield Document(title[1] if title else source.name, body.strip("\n") + "\n")
