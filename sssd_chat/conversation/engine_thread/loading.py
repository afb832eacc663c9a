"""Loading a model, while the chat on the screen can be changed already."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

from sssd_chat.conversation.engine_thread.chat_commands import ChatCommands
from sssd_chat.conversation.engine_thread.commands import ChatCommand, Close, Inbox, LoadModel
from sssd_chat.conversation.events import Event, ModelLoading

if TYPE_CHECKING:
    from sssd_chat.conversation.engine_thread.running import Running
    from sssd_chat.conversation.learning import LearningSettings
    from sssd_chat.conversation.session import ChatSettings
    from sssd_chat.generation.loading import EngineSettings

EngineSettingsOf = Callable[[str | None], "EngineSettings"]
"""The settings for a model file; None for the model that the user's settings choose. Raises
UserError when there is none."""
Check = Callable[[str], None]
"""Raises UserError with the reason why a model file cannot be loaded here."""


@dataclass(frozen=True, slots=True)
class Loader:
    """Makes a model ready."""

    engine_settings: EngineSettingsOf
    learning: Callable[[], LearningSettings] | None
    inbox: Inbox
    commands: ChatCommands
    emit: Callable[[Event], None]
    closing: threading.Event
    """Set when the screen closes, whatever else waits before that."""

    def load(self, path: str | None, base: ChatSettings) -> Running | None:
        """Loads a model; None when something else came that makes it pointless. Raises UserError
        when that is not possible."""
        from sssd_chat.conversation.engine_thread.running import Running
        from sssd_chat.generation.loading import LoadCancelled, load_engine

        settings = replace(self.engine_settings(path), reads_ahead=base.read_ahead)
        try:
            loaded = load_engine(settings, self._progress)
        except LoadCancelled:
            return None
        try:
            learning = None if self.learning is None else self.learning()
            return Running.begin(loaded, base, learning, self.emit)
        except BaseException:
            loaded.close()
            raise

    def _progress(self, done: float) -> bool:
        self.emit(ModelLoading(done))
        while isinstance(command := self.inbox.peek(), get_args(ChatCommand)):
            self.inbox.take()
            self.commands.do(command, None)
        return not (self.closing.is_set() or isinstance(command, Close | LoadModel))
