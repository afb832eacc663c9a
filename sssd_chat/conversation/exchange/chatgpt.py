"""ChatGPT's `conversations.json`: a tree of nodes by identifier."""

from __future__ import annotations

from sssd_chat.conversation.exchange.fields import (
    Record,
    entries,
    is_record,
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

_TEXT_KINDS = ("text", "multimodal_text")


def recognizes(value: object) -> bool:
    """Whether this is one conversation of an export."""
    return is_record(value, "mapping")


def read(value: Record) -> PortableChat:
    """The chat. Raises Damaged."""
    nodes = record(value["mapping"], "mapping")
    return assembled(
        [_turn(key, record(node, f"node {key}")) for key, node in nodes.items()],
        title=text_or_empty(value.get("title")),
        created=seconds(value.get("create_time")),
        updated=seconds(value.get("update_time")),
        leaf=text_or_empty(value.get("current_node")) or None,
    )


def _turn(key: Key, node: Record) -> PortableTurn:
    parent = text_or_empty(node.get("parent")) or None
    if node.get("message") is None:
        return PortableTurn(key, parent, "", "")
    message = record(node["message"], f"the message of node {key}")
    author = record(message.get("author"), f"the author of node {key}")
    content = record(message.get("content"), f"the content of node {key}")
    details = message.get("metadata") or {}
    role = text_or_empty(author.get("role"))
    is_shown = (
        content.get("content_type") in _TEXT_KINDS
        and message.get("recipient", "all") == "all"
        and not details.get("is_visually_hidden_from_conversation")
    )
    return PortableTurn(
        key,
        parent,
        role if is_shown or role == "system" else "",
        _text(content, key) if is_shown or role == "system" else "",
        model=text_or_empty(details.get("model_slug")) if role == "assistant" else "",
        created=seconds(message.get("create_time")),
    )


def _text(content: Record, key: Key) -> str:
    if "parts" not in content:
        return text_or_empty(content.get("text"))
    parts = entries(content["parts"], f"the parts of node {key}")
    # Parts that are no text are images and sound.
    texts = [part for part in parts if isinstance(part, str) and part]
    if parts and not texts and not any(isinstance(part, str | dict) for part in parts):
        raise Damaged(f"the parts of node {key} are neither text nor objects")
    return "\n\n".join(texts)
