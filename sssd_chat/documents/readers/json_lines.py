"""JSON Lines: a dialogue a line, or the texts of all lines."""

from __future__ import annotations

import json
from collections.abc import Iterator

from sssd_chat.documents.dialogues import dialogues_of
from sssd_chat.documents.document import PART_CHARACTERS, Document, DocumentError, Source
from sssd_chat.documents.encoding import text_lines
from sssd_chat.documents.readers.json_file import texts_in


def read(source: Source) -> Iterator[Document]:
    """Dialogues one by one, and documents of about PART_CHARACTERS with the other texts. Broken
    lines are counted and noted; raises DocumentError if all are."""
    broken = parsed = dialogues = 0
    texts: list[str] = []
    size = 0
    part = 1
    for line in text_lines(source):
        if not line.strip():
            continue
        try:
            value: object = json.loads(line, parse_int=float)
        except (json.JSONDecodeError, RecursionError):
            broken += 1
            continue
        parsed += 1
        found = False
        for dialogue in dialogues_of(value):
            found = True
            dialogues += 1
            title = dialogue.title or f"{source.name}, dialogue {dialogues}"
            yield Document(title, dialogue.text)
        if found:
            continue
        for text in texts_in(value):
            texts.append(text + "\n\n")
            size += len(text)
        if size > PART_CHARACTERS:
            yield Document(source.name, "".join(texts), part=part)
            texts, size, part = [], 0, part + 1
    if texts:
        yield Document(source.name, "".join(texts), part=part)
    if broken and not parsed:
        raise DocumentError("is no JSON Lines file: not one of its lines is valid JSON")
    if broken:
        source.notes.append(f"{broken} of {broken + parsed} lines are no valid JSON")
