"""The engine thread, a ChatBackend over the real engine."""

from __future__ import annotations

from sssd_chat.conversation.engine_thread.backend import EngineThread

__all__ = ["EngineThread"]
