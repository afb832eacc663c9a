"""The documents that wait for the next question of a chat."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sssd_chat.conversation.attachments import (
    Attachment,
    counted,
    read_attachment,
    with_attachments,
)
from sssd_chat.conversation.events import Attached, AttachmentsChanged, Event, Notice
from sssd_chat.errors import UserError

if TYPE_CHECKING:
    from sssd_chat.conversation.session import ChatSession
    from sssd_chat.generation.loading import LoadedEngine


class WaitingAttachments:
    """For the engine thread."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        """`emit` tells the screen."""
        self._emit = emit
        self._waiting: list[Attachment] = []

    def add(
        self, path: str, session: ChatSession, loaded: LoadedEngine, cancelled: threading.Event
    ) -> None:
        """Reads a file and lets it wait, or tells why it cannot. Setting `cancelled` ends it."""
        try:
            attachment = read_attachment(Path(path).expanduser(), cancelled)
            wanted = [*self._waiting, attachment]
            counts = counted(wanted, session, loaded)
        except (UserError, RuntimeError) as error:
            # RuntimeError: a "~user" whose home folder is not known.
            self._emit(Notice(str(error), "error"))
            return
        self._waiting = wanted
        self._emit(
            AttachmentsChanged(
                tuple(
                    Attached(one.name, one.lines, count)
                    for one, count in zip(wanted, counts, strict=True)
                )
            )
        )

    def clear(self) -> None:
        """Lets go of them."""
        if self._waiting:
            self._waiting = []
            self._emit(AttachmentsChanged(()))

    def before(self, question: str) -> str:
        """The message that the question becomes."""
        return with_attachments(question, self._waiting)
