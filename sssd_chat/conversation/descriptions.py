"""The model, as the screen is told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sssd_chat.conversation.events import Drafting, ModelInfo

if TYPE_CHECKING:
    from sssd_chat.conversation.session import ChatSession
    from sssd_chat.generation.loading import LoadedEngine


def describe_model(loaded: LoadedEngine, session: ChatSession) -> ModelInfo:
    """The loaded model."""
    model, target = loaded.model, loaded.target
    return ModelInfo(
        model.name,
        str(model.path),
        model.description,
        target.context_length,
        target.threads,
        model.on_gpu,
        session.drafting if session.settings.generation.drafting else Drafting.OFF_BY_USER,
        target.shape,
    )
