"""JSON: dialogues if it holds dialogues, else the text in it, else the file as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator

from sssd_chat.documents.dialogues import dialogues_of
from sssd_chat.documents.document import Document, DocumentError, Source
from sssd_chat.documents.encoding import whole_text


def read(source: Source) -> Iterator[Document]:
    """Dialogues one by one, or one document of all texts of two words or more. A file of settings
    or numbers has none and is taken verbatim, as source code. Raises DocumentError if it is no
    JSON."""
    text = whole_text(source)
    if not text.strip():
        return
    value = parse(text)
    found = False
    for number, dialogue in enumerate(dialogues_of(value), start=1):
        found = True
        title = dialogue.title or f"{source.name}, dialogue {number}"
        yield Document(title, dialogue.text)
    if found:
        return
    fields = list(texts_in(value))
    if fields:
        yield Document(source.name, "\n\n".join(fields) + "\n")
    else:
        yield Document(source.name, text, ("holds no sentences, so taken as source code",))


def parse(text: str) -> object:
    """The value of a JSON text. Raises DocumentError with the line, and RecursionError."""
    try:
        # Python refuses integers of thousands of digits, which are of no use here anyway.
        return json.loads(text, parse_int=float)
    except json.JSONDecodeError as error:
        raise DocumentError(f"is no valid JSON: {error.msg} in line {error.lineno}") from None


def texts_in(value: object) -> Iterator[str]:
    """The texts in a JSON value, in their order, without those of a single word, which are names,
    keys, dates and data for machines."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            text = value.strip()
            if any(character.isspace() for character in text):
                yield text
        elif isinstance(value, list):
            waiting.extend(reversed(value))
        elif isinstance(value, dict):
            waiting.extend(reversed(value.values()))
