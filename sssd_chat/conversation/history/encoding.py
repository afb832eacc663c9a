"""How text and tokens lie in the database: nothing of them may be lost."""

from __future__ import annotations

from array import array

from sssd_chat.conversation.attachments import split_attachments
from sssd_chat.text import one_line

_TITLE_LENGTH = 60


def storable(text: str) -> str | bytes:
    """`text` as SQLite takes it. It takes no lone surrogates, which a paste may hold: such a text
    becomes bytes, so that it comes back as it was."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def restored(value: str | bytes) -> str:
    """The text that `storable` made `value` from."""
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


def packed(tokens: array[int] | None) -> bytes | None:
    """Token ids as bytes, 32 bits each."""
    return None if tokens is None else tokens.tobytes()


def unpacked(value: bytes | None) -> array[int] | None:
    """The token ids that `packed` made `value` from."""
    if value is None:
        return None
    tokens = array("i")
    tokens.frombytes(value)
    return tokens


def title_of(text: str) -> str:
    """A title from the first message of a chat: the beginning of its question, on one line."""
    text = split_attachments(text)[1]
    # A line of it is enough to look at, however long the message is.
    return one_line(text[: 8 * _TITLE_LENGTH])[:_TITLE_LENGTH].rstrip()
