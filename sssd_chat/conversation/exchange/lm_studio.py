"""LM Studio's `*.conversation.json`: messages with versions, of which one is selected."""

from __future__ import annotations

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
    """Whether this is one conversation."""
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        return False
    return bool(value["messages"]) and is_record(value["messages"][0], "versions")


def read(value: Record) -> PortableChat:
    """The chat. Versions that are not selected are branches. Raises Damaged."""
    turns = [PortableTurn("system", None, "system", text_or_empty(value.get("systemPrompt")))]
    before: Key = "system"
    for place, each in enumerate(entries(value["messages"], "messages")):
        message = record(each, f"message {place}")
        versions = entries(message.get("versions"), f"the versions of message {place}")
        selected = message.get("currentlySelected", 0)
        if not isinstance(selected, int) or not 0 <= selected < len(versions):
            raise Damaged(f"message {place} has no version {selected!r}")
        turns += [_turn(f"{place}.{n}", before, each) for n, each in enumerate(versions)]
        before = f"{place}.{selected}"
    return assembled(
        turns,
        title=text_or_empty(value.get("name")),
        created=seconds(value.get("createdAt")),
        updated=seconds(value.get("assistantLastMessagedAt") or value.get("userLastMessagedAt")),
        leaf=before,
    )


def _turn(key: str, parent: Key, value: object) -> PortableTurn:
    version = record(value, f"version {key}")
    role = text_or_empty(version.get("role"))
    if "steps" not in version:
        return PortableTurn(
            key, parent, role, parts_text(version.get("content"), f"the content of version {key}")
        )
    steps = entries(version["steps"], f"the steps of version {key}")
    blocks = [step for step in steps if is_record(step, "content")]
    texts = [
        parts_text(block["content"], f"the content of version {key}")
        for block in blocks
        if block.get("type") == "contentBlock" and not _is_thinking(block)
    ]
    return PortableTurn(
        key, parent, role, "\n\n".join(t for t in texts if t), model=_model(blocks, version)
    )


def _is_thinking(block: Record) -> bool:
    style = block.get("style")
    return isinstance(style, dict) and style.get("type") == "thinking"


def _model(blocks: list[Record], version: Record) -> str:
    for block in blocks:
        details = block.get("genInfo")
        if isinstance(details, dict) and details.get("identifier"):
            return text_or_empty(details["identifier"])
    sender = version.get("senderInfo")
    return text_or_empty(sender.get("senderName")) if isinstance(sender, dict) else ""
