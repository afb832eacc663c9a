"""Zip archives: every file in them that can be read, in memory, archives in archives included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from zipfile import ZipFile, ZipInfo

from sssd_chat.documents.archives import ZipBombError, open_zip, unpack
from sssd_chat.documents.document import Document, DocumentError, Source
from sssd_chat.documents.encoding import looks_binary
from sssd_chat.documents.formats import format_of
from sssd_chat.documents.reading import read_source
from sssd_chat.text import one_line

_HEAD = 8192
_SHOWN = 3


def read(source: Source) -> Iterator[Document]:
    """The documents of the files in the archive, titled "archive.zip/path". Files that cannot be
    read are noted with their reasons. Raises DocumentError if none can, and about zip bombs."""
    if source.depth >= source.limits.archive_depth:
        raise DocumentError(f"lies in {source.depth} other archives, deeper than is read")
    binary = 0
    found = False
    failures: list[str] = []
    with open_zip(source) as archive:
        for member in archive.infolist():
            if member.is_dir() or _is_hidden(member.filename) or not member.file_size:
                continue
            if _is_binary(archive, member):
                binary += 1
                continue
            try:
                for document in _member(archive, member, source):
                    found = True
                    yield document
            except ZipBombError:
                raise
            except DocumentError as error:
                failures.append(f"{one_line(member.filename)} {error.reason}")
    if failures and not found:
        raise DocumentError(f"holds nothing that can be read: {failures[0]}")
    source.notes.extend(failures[:_SHOWN])
    if len(failures) > _SHOWN:
        source.notes.append(f"{len(failures) - _SHOWN} more files in it cannot be read")
    if binary:
        source.notes.append(f"{binary} binary files in it left out")


def _is_hidden(path: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in path.split("/"))


def _is_binary(archive: ZipFile, member: ZipInfo) -> bool:
    """Whether a file of no known binary format shows that it is no text. Says no if it cannot be
    opened: the reader will say why."""
    if not format_of(member.filename).is_text:
        return False
    try:
        with archive.open(member) as file:
            return looks_binary(file.read(_HEAD))
    except Exception:  # encrypted, damaged, or packed in a way that zipfile does not know
        return False


def _member(archive: ZipFile, member: ZipInfo, source: Source) -> Iterator[Document]:
    try:
        content = unpack(archive, member, source)
    except (DocumentError, MemoryError):
        raise
    except Exception as error:  # zipfile and zlib raise several kinds
        raise DocumentError("is damaged in the archive") from error
    inner = Source(
        member.filename, BytesIO(content), source.limits, source.depth + 1, source.unpacked
    )
    for document in read_source(inner):
        path = one_line(member.filename)
        title = document.title if document.title.startswith(path) else f"{path}: {document.title}"
        yield replace(document, title=f"{source.name}/{title}")
    source.notes.extend(f"{member.filename}: {note}" for note in inner.notes)
