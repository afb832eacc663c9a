"""Forgetting chats everywhere."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from sssd_chat import paths
from sssd_chat.conversation.history import History
from sssd_chat.conversation.state_cache import StateCache
from sssd_chat.errors import UserError


def forget_chat(chat: int) -> None:
    """Forgets one chat; see `forget_chats`."""
    forget_chats([chat])


def forget_chats(chats: Sequence[int]) -> None:
    """Deletes chats for real; when this returns, nothing on the disk holds their text.

    Raises NoSuchChat, and then nothing is deleted; UserError when something could not be erased
    yet."""
    with contextlib.closing(History(paths.history_file())) as history:
        for chat in chats:
            history.chat(chat)
        # What was made from a chat goes first: while the chat is there, the command can be given
        # again. Whatever else keeps something of chats belongs here.
        _forget_states(chats)
        history.delete_chats(chats)


def _forget_states(chats: Sequence[int]) -> None:
    states = StateCache(paths.state_cache_folder(), megabytes=0)
    try:
        for chat in chats:
            states.forget(chat)
    except OSError as error:
        raise UserError(
            f"The chats could not be deleted: {paths.state_cache_folder()} cannot be changed "
            f"({error.strerror or error})."
        ) from error
