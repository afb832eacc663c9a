"""DOCX: paragraphs and tables in their order, without what was deleted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sssd_chat.documents.archives import allow, open_zip
from sssd_chat.documents.document import Document, DocumentError, Source
from sssd_chat.documents.flow import Flow
from sssd_chat.documents.xml_text import local_name

_UNSEEN = frozenset({"del", "moveFrom", "Fallback", "instrText", "delText"})
_CONTENTS = "[Content_Types].xml"
_SEPARATORS = {"br": "\n", "cr": "\n", "tab": "\t"}


def read(source: Source) -> Iterator[Document]:
    """The body of the document, under the title of its properties. Raises DocumentError."""
    import docx

    with open_zip(source) as archive:
        if _CONTENTS not in archive.namelist():
            raise DocumentError(f"is no DOCX file: it has no {_CONTENTS}")
        # python-docx unpacks everything at once, pictures included.
        for member in archive.infolist():
            allow(member, source)
    source.file.seek(0)
    document = docx.Document(source.file)
    title = document.core_properties.title.strip() or source.name
    yield Document(title, _text(document.element.body))


def _text(body: Any) -> str:
    from lxml import etree

    flow = Flow()
    unseen = 0
    for event, element in etree.iterwalk(body, events=("start", "end")):
        # Comments and processing instructions have functions for tags.
        name = local_name(element.tag) if isinstance(element.tag, str) else ""
        starts = event == "start"
        if name in _UNSEEN:
            unseen += 1 if starts else -1
        elif unseen:
            continue
        elif starts and name == "tc":
            flow.start_cell()
        elif not starts:
            _end(flow, name, element.text)
    return flow.text


def _end(flow: Flow, name: str, text: str | None) -> None:
    if name == "t":
        flow.add(text or "")
    elif name in _SEPARATORS:
        flow.add(_SEPARATORS[name])
    elif name == "p":
        flow.end_paragraph()
    elif name == "tc":
        flow.end_cell()
    elif name == "tr":
        flow.end_row()
    elif name == "tbl":
        flow.end_table()
