"""The kept KV states of the chat that a recorder keeps."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from sssd_chat import paths
from sssd_chat.conversation.state_cache import StateCache

if TYPE_CHECKING:
    from sssd_chat.conversation.history import ChatRecorder
    from sssd_chat.conversation.session import ChatSession

log = logging.getLogger(__name__)


def resume_state(session: ChatSession, recorder: ChatRecorder) -> bool:
    """Takes the state of a chat that goes on, so that it need not be read; False when there is
    none that agrees with it."""
    chat = recorder.chat
    return chat is not None and session.resume_state(_cache(session), chat) > 0


def keep_state(session: ChatSession, recorder: ChatRecorder) -> None:
    """Keeps the state of a chat that is left. Of a chat that is not kept, or was deleted
    meanwhile, no state is kept either: it holds all that was said, the deleted turns too."""
    chat = recorder.chat
    if chat is None:
        return
    states = _cache(session)
    session.keep_state(states, chat)
    if not recorder.is_kept():
        try:
            states.forget(chat)
        except OSError:
            log.exception("the state of a deleted chat could not be taken away")


def _cache(session: ChatSession) -> StateCache:
    return StateCache(paths.state_cache_folder(), session.settings.state_cache_megabytes)
