"""What the engine thread does while nothing is asked of it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from sssd_chat.conversation.engine_thread.commands import Action, Draft, Inbox
from sssd_chat.conversation.events import ContextFilled, Event

if TYPE_CHECKING:
    from sssd_chat.conversation.session import ChatSession

_TYPING_PAUSE_SECONDS = 0.2
"""After so long without a key, what stands in the prompt is read ahead."""
_LOOK_SECONDS = 2.0
"""How often is seen whether others have deleted something."""

log = logging.getLogger(__name__)


def next_action(
    inbox: Inbox, read_ahead: Callable[[], None], look_around: Callable[[], None]
) -> Action:
    """Waits for a command. Drafts are read ahead when typing pauses; from time to time is looked
    around."""
    is_draft_new = False
    while True:
        command = inbox.take(_TYPING_PAUSE_SECONDS if is_draft_new else _LOOK_SECONDS)
        if isinstance(command, Draft):
            is_draft_new = True
        elif command is not None:
            return command
        elif is_draft_new:
            is_draft_new = False
            read_ahead()
        else:
            look_around()


def read_ahead(
    session: ChatSession, message: str, inbox: Inbox, emit: Callable[[Event], None]
) -> None:
    """Reads what is typed, until anything else comes."""
    from sssd_chat.conversation.read_ahead import on_battery

    settings = session.settings
    if not settings.read_ahead or (not settings.read_ahead_on_battery and on_battery()):
        return
    try:
        session.read_ahead(message, inbox.is_empty)
    except Exception:
        # The question itself will be read, or say what is wrong.
        log.exception("reading ahead failed")
    emit(ContextFilled(session.context_tokens))
