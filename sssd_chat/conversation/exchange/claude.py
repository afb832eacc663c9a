"""The export of claude.ai: `conversations.json`, messages in a list."""

from __future__ import annotations

from sssd_chat.conversation.exchange.fields import (
    Record,
    entries,
    is_record,
    parts_text,
    record,
    seconds,
    text,
    text_or_empty,
)
from sssd_chat.conversation.exchange.portable import PortableChat, PortableTurn, assembled, chain

_ROLES = {"human": "user", "assistant": "assistant"}


def recognizes(value: object) -> bool:
    """Whether this is one conversation of an export."""
    return is_record(value, "chat_messages")


def read(value: Record) -> PortableChat:
    """The chat. Raises Damaged."""
    messages = entries(value["chat_messages"], "chat_messages")
    turns = [_turn(place, record(each, f"message {place}")) for place, each in enumerate(messages)]
    if not all(is_record(message, "uuid", "parent_message_uuid") for message in messages):
        turns = chain(turns)
    return assembled(
        turns,
        title=text_or_empty(value.get("name")),
        created=seconds(value.get("created_at")),
        updated=seconds(value.get("updated_at")),
        leaf=text_or_empty(value.get("current_leaf_message_uuid")) or None,
    )


def _turn(place: int, message: Record) -> PortableTurn:
    what = f"message {place}"
    sender = text(message.get("sender"), f"the sender of {what}")
    said = parts_text(message.get("content"), f"the content of {what}")
    said = said or text_or_empty(message.get("text"))
    attached = [_attached(each) for each in message.get("attachments") or []]
    return PortableTurn(
        text_or_empty(message.get("uuid")) or place,
        text_or_empty(message.get("parent_message_uuid")) or None,
        _ROLES.get(sender, ""),
        "\n\n".join(part for part in [said, *attached] if part),
        created=seconds(message.get("created_at")),
        updated=seconds(message.get("updated_at")),
    )


def _attached(attachment: object) -> str:
    """The text of an attached file under its name; empty when it has none."""
    if not is_record(attachment, "extracted_content"):
        return ""
    details = record(attachment, "an attachment")
    content = text_or_empty(details["extracted_content"])
    return f"{text_or_empty(details.get('file_name'))}\n{content}".strip() if content else ""
