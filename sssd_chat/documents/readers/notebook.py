"""Jupyter notebooks: text and code cells as Markdown, without the outputs."""

from __future__ import annotations

from collections.abc import Iterator

from sssd_chat.documents.document import Document, DocumentError, Source
from sssd_chat.documents.encoding import whole_text
from sssd_chat.documents.readers.json_file import parse


def read(source: Source) -> Iterator[Document]:
    """One Markdown document with the code in fences. Raises DocumentError if it is no notebook."""
    notebook = parse(whole_text(source))
    cells = _cells(notebook)
    if cells is None or not isinstance(notebook, dict):
        raise DocumentError("is no Jupyter notebook: it has no cells")
    language = _language(notebook)
    texts = [text for cell in cells if (text := _cell(cell, language))]
    heading = next((text for text in texts if text.startswith("# ")), "")
    title = heading.partition("\n")[0].lstrip("# ")
    yield Document(title or source.name, "\n\n".join(texts) + "\n")


def _cells(notebook: object) -> list[object] | None:
    if not isinstance(notebook, dict):
        return None
    cells = notebook.get("cells")
    if cells is None:
        # Until version 3 of the format, cells were in worksheets.
        worksheets = notebook.get("worksheets")
        first = worksheets[0] if isinstance(worksheets, list) and worksheets else None
        cells = first.get("cells") if isinstance(first, dict) else None
    return cells if isinstance(cells, list) else None


def _language(notebook: dict[str, object]) -> str:
    metadata = notebook.get("metadata")
    for key in ("language_info", "kernelspec"):
        about = metadata.get(key) if isinstance(metadata, dict) else None
        name = about.get("language" if key == "kernelspec" else "name") if about else None
        if isinstance(name, str) and name.isalnum():
            return name
    return "python"


def _cell(cell: object, language: str) -> str:
    if not isinstance(cell, dict):
        return ""
    lines = cell.get("source", cell.get("input", ""))
    text = "".join(map(str, lines)) if isinstance(lines, list) else str(lines)
    text = text.strip("\n")
    if cell.get("cell_type") == "code" and text:
        return f"```{language}\n{text}\n```"
    return text
