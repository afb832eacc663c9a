"""Forgetting a chat everywhere."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from sssd_chat import paths
from sssd_chat.conversation.history import History


def forget_chat(chat: int) -> None:
    """Forgets one chat; see `forget_chats`."""
    forget_chats([chat])


def forget_chats(chats: Sequence[int]) -> None:
    """Deletes chats for real; when this returns, nothing on the disk holds their text.

    Whatever else keeps something of a chat is told here, before the history forgets which answers
    were part of it. Raises NoSuchChat, and then nothing is deleted; UserError when something could
    not be erased yet."""
    with contextlib.closing(History(paths.history_file())) as history:
        history.delete_chats(chats)
