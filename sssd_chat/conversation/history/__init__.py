"""The history of chats on disk (SQLite).

A chat is a tree of turns: each turn names the one it follows, so that a question asked anew or an
answer written anew makes a branch and nothing is overwritten. A question is committed before the
model starts on it; the answer is written again each second while it grows.
"""

from __future__ import annotations

from sssd_chat.conversation.history.database import History
from sssd_chat.conversation.history.recorder import ChatRecorder
from sssd_chat.conversation.history.turns import (
    ChatSummary,
    NewTurn,
    NoSuchChat,
    NoSuchTurn,
    SearchHit,
    StoredAnswer,
    StoredTurn,
    TurnRecord,
)

__all__ = [
    "ChatRecorder",
    "ChatSummary",
    "History",
    "NewTurn",
    "NoSuchChat",
    "NoSuchTurn",
    "SearchHit",
    "StoredAnswer",
    "StoredTurn",
    "TurnRecord",
]
