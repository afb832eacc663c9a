"""Messages in a list: ShareGPT's `conversations` and the `messages` of OpenAI's interface."""

from __future__ import annotations

from sssd_chat.conversation.exchange.fields import (
    Record,
    is_record,
    parts_text,
    record,
    seconds,
    text,
    text_or_empty,
)
from sssd_chat.conversation.exchange.portable import (
    Damaged,
    PortableChat,
    PortableTurn,
    assembled,
    chain,
)

_LISTS = ("conversations", "conversation", "messages", "items")
_ROLES = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "",
    "function": "",
    "function_call": "",
    "observation": "",
}


def recognizes(value: object) -> bool:
    """Whether this is a chat with a list of messages that name their speaker."""
    return bool(_messages(value))


def read(value: Record | list[Record]) -> PortableChat:
    """The chat. Raises Damaged."""
    turns = [_turn(place, message) for place, message in enumerate(_messages(value))]
    details = value if isinstance(value, dict) else {}
    system = text_or_empty(details.get("system") or details.get("system_prompt"))
    if system:
        turns.insert(0, PortableTurn("system", None, "system", system))
    return assembled(
        chain(turns),
        title=text_or_empty(details.get("title")),
        created=seconds(details.get("created_at") or details.get("create_time")),
        updated=seconds(details.get("updated_at") or details.get("update_time")),
    )


def _messages(value: object) -> list[object]:
    if isinstance(value, dict):
        lists = [value[name] for name in _LISTS if isinstance(value.get(name), list)]
        messages = lists[0] if lists else []
    else:
        messages = value if isinstance(value, list) else []
    first = messages[0] if messages else None
    return messages if is_record(first, "from") or is_record(first, "role") else []


def _turn(place: int, value: object) -> PortableTurn:
    what = f"message {place}"
    message = record(value, what)
    speaker = text(message.get("from", message.get("role")), f"the speaker of {what}")
    if speaker not in _ROLES:
        raise Damaged(f"the speaker of {what} is unknown: {speaker!r}")
    said = next((message[name] for name in ("value", "content", "text") if name in message), None)
    if said is None and _ROLES[speaker] and not message.get("tool_calls"):
        raise Damaged(f"{what} says nothing")
    return PortableTurn(place, None, _ROLES[speaker], parts_text(said, f"the content of {what}"))


def written(chat: PortableChat, number: int, branch: list[PortableTurn]) -> Record:
    """One branch of a chat as ShareGPT has it."""
    names = {"user": "human", "assistant": "gpt"}
    said = [{"from": "system", "value": chat.system}] if chat.system else []
    said += [{"from": names[turn.role], "value": turn.text} for turn in branch]
    return {"id": f"sssd-chat-{number}", "title": chat.title or "", "conversations": said}
