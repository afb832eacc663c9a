"""The web UI of llama.cpp's server: a conversation and the tree of its messages."""

from __future__ import annotations

from collections.abc import Iterator

from sssd_chat.conversation.exchange.fields import (
    Record,
    entries,
    is_record,
    parts_text,
    record,
    seconds,
    text_or_empty,
)
from sssd_chat.conversation.exchange.portable import (
    Damaged,
    Key,
    PortableChat,
    PortableTurn,
    assembled,
)


def recognizes(value: object) -> bool:
    """Whether this is one conversation, as newer and older versions export it."""
    if is_record(value, "conv", "messages"):
        return True
    return is_record(value, "messages", "lastModified") or is_record(value, "messages", "currNode")


def conversations(tables: list[object]) -> Iterator[Record] | None:
    """The conversations of a copy of the whole database; None when it is something else."""
    rows = {
        table["table"]: table["rows"]
        for table in tables
        if isinstance(table, dict) and isinstance(table.get("rows"), list) and "table" in table
    }
    if len(rows) != len(tables) or not {"conversations", "messages"} <= rows.keys():
        return None
    messages: dict[object, list[Record]] = {}
    for message in rows["messages"]:
        if isinstance(message, dict):
            messages.setdefault(str(message.get("convId")), []).append(message)
    return (
        {"conv": row, "messages": messages.get(str(row.get("id")), [])}
        for row in rows["conversations"]
        if isinstance(row, dict)
    )


def read(value: Record) -> PortableChat:
    """The chat. Raises Damaged."""
    details = record(value.get("conv", value), "conv")
    messages = entries(value["messages"], "messages")
    turns = [_turn(place, record(each, f"message {place}")) for place, each in enumerate(messages)]
    created = min((turn.created for turn in turns if turn.created is not None), default=None)
    return assembled(
        turns,
        title=text_or_empty(details.get("name")),
        created=created,
        updated=seconds(details.get("lastModified")),
        leaf=_key(details["currNode"]) if details.get("currNode") is not None else None,
    )


def _turn(place: int, message: Record) -> PortableTurn:
    if "id" not in message:
        raise Damaged(f"message {place} has no id")
    is_shown = message.get("type", "text") == "text"
    role = text_or_empty(message.get("role"))
    parent = message.get("parent")
    return PortableTurn(
        _key(message["id"]),
        None if parent is None else _key(parent),
        role if is_shown else "",
        parts_text(message.get("content"), f"the content of message {place}") if is_shown else "",
        model=text_or_empty(message.get("model")) if role == "assistant" else "",
        created=seconds(message.get("timestamp")),
    )


def _key(value: object) -> Key:
    # Numbers in older exports, texts in newer ones; those of one export may differ in kind.
    return str(value)
