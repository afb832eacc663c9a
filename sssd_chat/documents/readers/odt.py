"""ODT: paragraphs, headings, lists and tables in their order, without comments and deletions."""

from __future__ import annotations

from collections.abc import Iterator

from sssd_chat.documents.archives import open_zip, unpack
from sssd_chat.documents.document import Document, DocumentError, Source
from sssd_chat.documents.flow import Flow
from sssd_chat.documents.xml_text import feed_xml, local_name

_UNSEEN = frozenset({"tracked-changes", "annotation", "forms", "sequence-decls"})
_PARAGRAPHS = frozenset({"p", "h"})
_MANIFEST = "META-INF/manifest.xml"


class _Body:
    """Collects the text of content.xml."""

    def __init__(self) -> None:
        self.flow = Flow()
        self._unseen = 0
        self._paragraphs = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = local_name(tag)
        self._unseen += name in _UNSEEN
        self._paragraphs += name in _PARAGRAPHS
        if self._unseen:
            return
        if name == "list":
            self.flow.start_list()
        elif name == "list-item":
            self.flow.start_item()
        elif name == "table-cell":
            self.flow.start_cell()
        elif name == "tab":
            self.flow.add("\t")
        elif name == "line-break":
            self.flow.add("\n")
        elif name == "s":
            self.flow.add(" " * _count(attributes))

    def end(self, tag: str) -> None:
        name = local_name(tag)
        self._paragraphs -= name in _PARAGRAPHS
        if name in _UNSEEN:
            self._unseen -= 1
        elif self._unseen:
            return
        elif name in _PARAGRAPHS:
            self.flow.end_paragraph()
        elif name == "list":
            self.flow.end_list()
        elif name == "table-cell":
            self.flow.end_cell()
        elif name == "table-row":
            self.flow.end_row()
        elif name == "table":
            self.flow.end_table()

    def data(self, text: str) -> None:
        # Between the paragraphs there is only the white space that indents the XML.
        if self._paragraphs and not self._unseen:
            self.flow.add(text)

    def close(self) -> None:
        pass


class _Title:
    """Finds the title in meta.xml."""

    def __init__(self) -> None:
        self.title = ""
        self._inside = False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._inside = local_name(tag) == "title"

    def end(self, tag: str) -> None:
        self._inside = False

    def data(self, text: str) -> None:
        if self._inside:
            self.title += text

    def close(self) -> None:
        pass


def _count(attributes: dict[str, str]) -> int:
    number = next((value for key, value in attributes.items() if local_name(key) == "c"), "1")
    return min(int(number), 100) if number.isdecimal() else 1


def read(source: Source) -> Iterator[Document]:
    """The body of the document, under the title of its properties. Raises DocumentError."""
    with open_zip(source) as archive:
        members = {member.filename: member for member in archive.infolist()}
        if "content.xml" not in members:
            raise DocumentError("is no ODT file: it has no content.xml")
        if _MANIFEST in members and b"encryption-data" in unpack(
            archive, members[_MANIFEST], source
        ):
            raise DocumentError("is encrypted; save a copy without a password")
        body = _Body()
        feed_xml(unpack(archive, members["content.xml"], source), body)
        title = _Title()
        if "meta.xml" in members:
            feed_xml(unpack(archive, members["meta.xml"], source), title)
    yield Document(title.title.strip() or source.name, body.flow.text)
