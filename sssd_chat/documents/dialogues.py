"""Recognizes chats in JSON: OpenAI messages, ShareGPT, lists of role and content, ChatGPT exports.

A dialogue becomes text with "User:" and "Assistant:" before the turns, as people write them down.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_LISTS = ("messages", "conversations", "conversation", "turns", "dialogue")
_SPEAKERS = ("role", "from", "speaker")
_CONTENTS = ("content", "value", "text")
_NAMES = {
    "human": "User",
    "user": "User",
    "prompter": "User",
    "gpt": "Assistant",
    "chatgpt": "Assistant",
    "bot": "Assistant",
    "model": "Assistant",
    "assistant": "Assistant",
    "system": "System",
    "developer": "System",
    "tool": "Tool",
    "function": "Tool",
}


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A chat as text."""

    title: str
    """Empty if it has none."""
    text: str


def dialogues_of(value: object) -> Iterator[Dialogue]:
    """The dialogues that a JSON value is or holds; none if it is something else."""
    dialogue = _dialogue(value)
    if dialogue:
        yield dialogue
        return
    for entry in _entries(value):
        dialogue = _dialogue(entry)
        if dialogue:
            yield dialogue


def _entries(value: object) -> list[object]:
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        for name in (*_LISTS, "chats", "data", "items"):
            entries = value.get(name)
            if isinstance(entries, list):
                return entries
    return []


def _dialogue(value: object) -> Dialogue | None:
    title = ""
    turns: list[object]
    if isinstance(value, dict):
        title = value["title"] if isinstance(value.get("title"), str) else ""
        lists = [value[name] for name in _LISTS if isinstance(value.get(name), list)]
        turns = _exported_turns(value) or (lists[0] if lists else [])
    else:
        turns = value if isinstance(value, list) else []
    if not turns:
        return None
    lines = [_turn(turn) for turn in turns]
    if any(line is None for line in lines):
        return None
    text = "\n\n".join(line for line in lines if line)
    return Dialogue(title, text + "\n") if text else None


def _turn(turn: object) -> str | None:
    """A turn as text, empty if nothing is said in it; None if it is no turn at all."""
    if not isinstance(turn, dict):
        return None
    speaker = next((turn[key] for key in _SPEAKERS if isinstance(turn.get(key), str)), None)
    if speaker is None or not any(key in turn for key in _CONTENTS):
        return None
    content = next(turn[key] for key in _CONTENTS if key in turn)
    text = _text(content).strip()
    name = _NAMES.get(speaker.lower(), speaker)
    return f"{name}: {text}" if text else ""


def _text(content: object) -> str:
    """Content is text or a list of parts, some of which are pictures or calls of tools."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [part.get("text") if isinstance(part, dict) else part for part in content]
    return "\n".join(text for text in texts if isinstance(text, str))


def _exported_turns(value: dict[str, object]) -> list[object]:
    """The turns of a chat exported from ChatGPT: from the current message back to the first."""
    mapping = value.get("mapping")
    if not isinstance(mapping, dict):
        return []
    turns: list[object] = []
    place = value.get("current_node")
    for _ in range(len(mapping)):
        node = mapping.get(place) if isinstance(place, str) else None
        if not isinstance(node, dict):
            break
        message = node.get("message")
        if isinstance(message, dict):
            author, content = message.get("author"), message.get("content")
            if isinstance(author, dict) and isinstance(content, dict):
                turns.append({"role": author.get("role"), "content": content.get("parts")})
        place = node.get("parent")
    return turns[::-1]
