"""What collections and documents are called."""

from __future__ import annotations

from pathlib import Path

from sssd_chat.datastore.document import CHATS, STARTER
from sssd_chat.errors import UserError
from sssd_chat.text import one_line

_LONGEST = 80


def document_name(path: Path) -> str:
    """The name of the document that a file becomes: its path, in characters that can be stored.
    Bytes that are no text, and control characters, are written as \\xNN."""
    name = str(path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(c if c >= " " else f"\\x{ord(c):02x}" for c in name)


def check_collection_name(name: str) -> str:
    """The name of a collection as it is kept. Raises UserError for one that cannot be used."""
    name = name.strip()
    if not name or len(name) > _LONGEST or one_line(name) != name:
        raise UserError(f"The name of a collection is 1 to {_LONGEST} characters on one line.")
    if name in (CHATS, STARTER) or name.startswith(f"{STARTER}/"):
        raise UserError(f"The collection {name} belongs to the program; choose another name.")
    return name
