"""The answer that a session is writing, step by step."""

from __future__ import annotations

from dataclasses import dataclass, field

from sssd_chat.conversation.history.origins import StoredSpan
from sssd_chat.conversation.known_text import KnownText
from sssd_chat.conversation.parts import Parts
from sssd_chat.conversation.provenance import SpanTracker
from sssd_chat.conversation.thinking import ThinkingSplitter
from sssd_chat.generation.statistics import StepStatistics


@dataclass(slots=True)
class AnswerPart:
    """What one step added to an answer."""

    text: str
    """What became final of the answer itself."""
    thinking: str
    """What became final of the thinking before it."""
    tokens: list[int]
    statistics: StepStatistics
    spans: tuple[StoredSpan, ...] = ()
    """What of the answer itself is known to be drafted since the last step, see
    `SpanTracker.feed`."""


@dataclass(slots=True)
class Asked:
    """The question being answered."""

    prompt: KnownText
    """All that is read, the beginning of the answer too."""
    opened: str = ""
    """The mark of a thinking block that the prompt leaves open, or empty."""
    begun: str = ""
    """The beginning of the answer that goes on, as the model wrote it after the prompt."""
    begun_tokens: tuple[int, ...] = ()
    splitter: ThinkingSplitter = field(default_factory=ThinkingSplitter)
    spans: SpanTracker | None = None
    written: int = 0
    text: int = 0
    """Characters so far of what the model wrote, and of the answer itself."""

    def feed(self, parts: Parts, written: int) -> None:
        """Counts what came."""
        self.written += written
        self.text += len(parts.text)
