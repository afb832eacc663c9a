"""EPUB: the chapters of a book in the order in which they are read."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from io import BytesIO
from urllib.parse import unquote
from zipfile import ZipFile, ZipInfo

from sssd_chat.documents.archives import open_zip, unpack
from sssd_chat.documents.document import Document, DocumentError, Source
from sssd_chat.documents.encoding import text_pieces
from sssd_chat.documents.web_text import text_of_page
from sssd_chat.documents.xml_text import feed_xml, local_name

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"


class _Package:
    """Collects from container.xml and from the package file what leads to the chapters."""

    def __init__(self) -> None:
        self.title = ""
        self.package = ""
        self.files: dict[str, str] = {}
        self.spine: list[str] = []
        self.encrypted: set[str] = set()
        self._inside = ""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = self._inside = local_name(tag)
        if name == "rootfile":
            self.package = self.package or attributes.get("full-path", "")
        elif name == "item":
            self.files[attributes.get("id", "")] = attributes.get("href", "")
        elif name == "itemref":
            self.spine.append(attributes.get("idref", ""))
        elif name == "CipherReference":
            self.encrypted.add(attributes.get("URI", ""))

    def end(self, tag: str) -> None:
        # A book has one title or several; the first is the main one.
        if local_name(tag) == "title":
            self.title += "\n"
        self._inside = ""

    def data(self, text: str) -> None:
        if self._inside == "title":
            self.title += text

    def close(self) -> None:
        pass


def read(source: Source) -> Iterator[Document]:
    """The book as one document. Raises DocumentError about a copy-protected or damaged one."""
    with open_zip(source) as archive:
        members = {member.filename: member for member in archive.infolist()}
        if _CONTAINER not in members:
            raise DocumentError(f"is no EPUB file: it has no {_CONTAINER}")
        package = _Package()
        for name in (_CONTAINER, _ENCRYPTION):
            if name in members:
                feed_xml(unpack(archive, members[name], source), package)
        if package.package not in members:
            raise DocumentError("is damaged: the list of its chapters is missing")
        feed_xml(unpack(archive, members[package.package], source), package)
        chapters = list(_chapters(archive, members, package, source))
    title = next((line.strip() for line in package.title.split("\n") if line.strip()), "")
    yield Document(title or source.name, "\n\n".join(chapters) + "\n")


def _chapters(
    archive: ZipFile, members: dict[str, ZipInfo], package: _Package, source: Source
) -> Iterator[str]:
    folder = posixpath.dirname(package.package)
    missing = 0
    for reference in dict.fromkeys(package.spine):
        path = posixpath.normpath(posixpath.join(folder, unquote(package.files.get(reference, ""))))
        if path in package.encrypted:
            raise DocumentError("is copy-protected, so its chapters cannot be read")
        if path not in members:
            missing += 1
            continue
        chapter = Source(path, BytesIO(unpack(archive, members[path], source)))
        text = text_of_page(text_pieces(chapter)).text.strip()
        if text:
            yield text
    if missing:
        source.notes.append(f"{missing} of {len(package.spine)} chapters are missing in the file")
