"""The model and earlier turns, as the screen is told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sssd_chat.conversation.events import Drafting, ModelInfo, ShownTurn
from sssd_chat.conversation.history import StoredTurn

if TYPE_CHECKING:
    from sssd_chat.conversation.session import ChatSession
    from sssd_chat.generation.loading import LoadedEngine


def describe_turn(turn: StoredTurn) -> ShownTurn:
    """A turn of the history."""
    from sssd_chat.conversation.thinking import Parts, split_thinking

    is_answer = turn.role == "assistant"
    parts = split_thinking(turn.text) if is_answer else Parts(text=turn.text)
    return ShownTurn(None, turn.role, parts.text, parts.thinking, turn.status == "done", turn.model)


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
