"""The models that can be chosen, as a list shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """One model file."""

    path: str
    name: str
    description: str
    """Architecture and size, e.g. "llama 135M"; empty when the file cannot be read."""
    bytes: int
    """On the disk."""
    quantization: str
    """Empty when it is not known."""
    context: int
    """Tokens that it was trained for; 0 when it is not known."""
    batches_well: str
    """How much drafts can gain with it, in a few words; empty when that is not known."""
    problem: str
    """Why it cannot be used, in one sentence; empty when it can."""
    in_use: bool
    """Whether it is the one that the settings choose."""
    licence: str = ""
    """As the file states it; empty when it does not."""


class ModelCatalogue(Protocol):
    """Knows which models there are."""

    def models(self) -> list[ModelChoice]:
        """Those that can be chosen, and those that could if nothing were wrong with them. Reads
        files: not for the thread of the screen."""
