"""UltraChat: question and answer in turn, without names."""

from __future__ import annotations

from sssd_chat.conversation.exchange.fields import Record, entries, is_record, text
from sssd_chat.conversation.exchange.portable import PortableChat, PortableTurn, assembled, chain


def recognizes(value: object) -> bool:
    """Whether this is one dialogue."""
    return is_record(value, "data") and not is_record(value, "messages")


def read(value: Record) -> PortableChat:
    """The chat. Raises Damaged."""
    said = entries(value["data"], "data")
    turns = [
        PortableTurn(place, None, ("user", "assistant")[place % 2], text(each, f"message {place}"))
        for place, each in enumerate(said)
    ]
    return assembled(chain(turns))
