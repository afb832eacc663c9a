"""The decoding loop: what is drafted is verified, what the target would have written is kept."""

from __future__ import annotations

from sssd_chat.generation.engine import (
    Conversation,
    Engine,
    Generation,
    GenerationSettings,
    PromptTooLong,
    Step,
)
from sssd_chat.generation.statistics import (
    AnswerStatistics,
    Count,
    Drafting,
    StepStatistics,
    StoppedBy,
)

__all__ = [
    "AnswerStatistics",
    "Conversation",
    "Count",
    "Drafting",
    "Engine",
    "Generation",
    "GenerationSettings",
    "PromptTooLong",
    "Step",
    "StepStatistics",
    "StoppedBy",
]
