"""PDF: the text of its pages. Pictures of text are not read, and rubbish is not passed on."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from sssd_chat.documents.document import Document, DocumentError, Source

_CID = re.compile(r"\(cid:\d+\)")
_MOST_RUBBISH = 0.3
_JUDGED_CHARACTERS = 200_000


def read(source: Source) -> Iterator[Document]:
    """One document of all pages. Raises DocumentError about an encrypted file, one without text,
    and one whose text is rubbish."""
    from pypdf import PdfReader

    source.file.seek(0)
    reader = PdfReader(source.file)
    if reader.is_encrypted and not _opens_without_password(reader):
        raise DocumentError("is encrypted; save a copy without a password")
    count = len(reader.pages)
    texts: list[str] = []
    pictures = damaged = 0
    for number in range(count):
        try:
            page = reader.pages[number]
            text = page.extract_text().strip()
        except (MemoryError, RecursionError):
            raise
        except Exception:  # one damaged page of many; pypdf raises anything about it
            damaged += 1
            continue
        if text:
            texts.append(text)
        elif _has_picture(page):
            pictures += 1
    if not texts:
        raise DocumentError(_about_no_text(count, pictures, damaged))
    text = "\n\n".join(texts) + "\n"
    if _is_rubbish(text):
        raise DocumentError(
            "gives unreadable characters, because its fonts do not say which letters they show; "
            "it needs OCR"
        )
    yield Document(_title(reader) or source.name, text, tuple(_notes(count, pictures, damaged)))


def _opens_without_password(reader: Any) -> bool:
    """Many files can be read by everybody and are only protected against changes."""
    try:
        return bool(reader.decrypt(""))
    except Exception:  # among others, a cipher that is not installed
        return False


def _has_picture(page: Any) -> bool:
    try:
        objects = page["/Resources"]["/XObject"].get_object()
        return any(entry.get_object()["/Subtype"] == "/Image" for entry in objects.values())
    except Exception:  # no resources, or damaged ones
        return False


def _about_no_text(count: int, pictures: int, damaged: int) -> str:
    if damaged and damaged == count:
        return "is damaged: none of its pages can be read"
    if damaged:
        return f"is damaged: {damaged} of its {count} pages cannot be read, and the rest is empty"
    pages = "its only page has" if count == 1 else f"its {count} pages have"
    what = "pictures but no text" if pictures else "no text"
    return f"needs OCR before it can be read: {pages} {what}" if count else "has no pages"


def _notes(count: int, pictures: int, damaged: int) -> Iterator[str]:
    if pictures:
        yield f"{pictures} of {count} pages are pictures and need OCR"
    if damaged:
        yield f"{damaged} of {count} pages are damaged and left out"


def _is_rubbish(text: str) -> bool:
    """Whether much of it is characters that mean nothing: the sign of fonts without a table."""
    text = text[:_JUDGED_CHARACTERS]
    numbers = sum(len(run) for run in _CID.findall(text))
    meaningless = sum(
        character == "\ufffd" or unicodedata.category(character) in ("Co", "Cn", "Cc", "Cs")
        for character in text
        if not character.isspace()
    )
    visible = sum(not character.isspace() for character in text)
    return numbers + meaningless > visible * _MOST_RUBBISH


def _title(reader: Any) -> str:
    try:
        return str(reader.metadata.title or "").strip()
    except Exception:  # no or damaged metadata
        return ""
