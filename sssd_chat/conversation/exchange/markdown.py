"""A chat as a document for people."""

from __future__ import annotations

import time

from sssd_chat.conversation.exchange.portable import PortableChat, PortableTurn

_MARKS = {
    "stopped": "stopped",
    "failed": "cut off",
    "streaming": "not finished",
}


def written(chat: PortableChat, branch: list[PortableTurn]) -> str:
    """One branch of a chat in Markdown. The texts stand in it as they are."""
    parts = [f"# {chat.title or 'Untitled chat'}"]
    if chat.created is not None:
        parts.append(f"*{time.strftime('%Y-%m-%d %H:%M', time.localtime(chat.created))}*")
    if chat.system:
        parts += ["## System prompt", chat.system]
    for turn in branch:
        parts += [f"## {_speaker(turn)}", turn.text]
        if turn.role == "assistant" and turn.status in _MARKS:
            parts.append(f"*({_MARKS[turn.status]})*")
    others = len(chat.turns) - len(branch)
    if others:
        parts.append(f"*(questions and answers in other branches, not shown: {others})*")
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _speaker(turn: PortableTurn) -> str:
    return "You" if turn.role == "user" else turn.model or "Assistant"
