"""What a step and an answer cost and gained."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeVar

from sssd_chat.llama.shape import DraftShape

__all__ = [
    "AnswerStatistics",
    "Count",
    "DraftShape",
    "Drafting",
    "StepStatistics",
    "StoppedBy",
    "ratio",
]

_Key = TypeVar("_Key")

_SECONDS = (
    "prefill_seconds",
    "draft_seconds",
    "decode_seconds",
    "sampling_seconds",
    "other_seconds",
)


class Drafting(Enum):
    """Whether drafts are in use, and if not, why."""

    ON = "on"
    OFF_BY_COST = "drafts off: cost more than they save"
    OFF_BY_USER = "drafts off: switched off"
    IMPOSSIBLE = "drafts off: this model cannot take a token back"


class StoppedBy(Enum):
    """Why an answer ended."""

    END = "end"
    """The model gave an end-of-generation token."""
    STOP = "stop"
    """A stop string appeared."""
    LENGTH = "length"
    """The token limit of the answer."""
    CONTEXT = "context"
    """The context was full."""
    CANCELLED = "cancelled"


def ratio(part: float, whole: float) -> float | None:
    """part / whole, or None (shown as –) where there is nothing to divide by."""
    return part / whole if whole else None


@dataclass(slots=True)
class Count:
    """Drafted nodes of one source or depth."""

    drafted: int = 0
    tested: int = 0
    """Nodes whose parent was accepted, so that the target's own token was compared with them."""
    accepted: int = 0


@dataclass(slots=True)
class StepStatistics:
    """One step of one sequence."""

    emitted: int = 0
    """Tokens that joined the answer."""
    draft_size: int = 0
    """Nodes verified besides the root."""
    tested: int = 0
    accepted: int = 0
    by_source: dict[str, Count] = field(default_factory=dict)
    by_depth: dict[int, Count] = field(default_factory=dict)
    """Keyed by depth; a child of the root has depth 1."""
    draft_seconds: float = 0.0
    decode_seconds: float = 0.0
    sampling_seconds: float = 0.0
    other_seconds: float = 0.0
    """Bookkeeping between the three above."""
    plain_seconds: float | None = None
    """What plain decoding would have taken for the same tokens: measured where the step had no
    draft, else the measured time of a plain step for each. None while unknown."""
    context_tokens: int = 0
    """Committed length after the step."""
    drafting: Drafting = Drafting.ON


@dataclass(slots=True)
class AnswerStatistics:
    """Sums over the steps of one answer."""

    prompt_tokens: int = 0
    reused_tokens: int = 0
    """Prompt tokens that were in the KV cache already."""
    emitted: int = 0
    steps: int = 0
    """Passes of the model that gave at least one token, the last one of the prompt included."""
    drafted: int = 0
    tested: int = 0
    accepted: int = 0
    by_source: dict[str, Count] = field(default_factory=dict)
    by_depth: dict[int, Count] = field(default_factory=dict)
    prefill_seconds: float = 0.0
    draft_seconds: float = 0.0
    decode_seconds: float = 0.0
    sampling_seconds: float = 0.0
    other_seconds: float = 0.0
    plain_seconds: float | None = 0.0
    """What plain decoding would have taken for the same tokens; None while unknown."""
    drafting: Drafting = Drafting.ON

    def add(self, step: StepStatistics) -> None:
        """Adds one step."""
        self.steps += 1
        self.emitted += step.emitted
        self.drafted += step.draft_size
        self.tested += step.tested
        self.accepted += step.accepted
        _merge(self.by_source, step.by_source)
        _merge(self.by_depth, step.by_depth)
        self.draft_seconds += step.draft_seconds
        self.decode_seconds += step.decode_seconds
        self.sampling_seconds += step.sampling_seconds
        self.other_seconds += step.other_seconds
        if self.plain_seconds is None or step.plain_seconds is None:
            self.plain_seconds = None
        else:
            self.plain_seconds += step.plain_seconds
        self.drafting = step.drafting

    def followed_by(self, more: AnswerStatistics) -> AnswerStatistics:
        """The sums of an answer that was gone on with: `more` is what that cost. The prompt is the
        first one."""
        sums = self.copy()
        for name in ("emitted", "steps", "drafted", "tested", "accepted", *_SECONDS):
            setattr(sums, name, getattr(self, name) + getattr(more, name))
        _merge(sums.by_source, more.by_source)
        _merge(sums.by_depth, more.by_depth)
        if self.plain_seconds is None or more.plain_seconds is None:
            sums.plain_seconds = None
        else:
            sums.plain_seconds = self.plain_seconds + more.plain_seconds
        sums.drafting = more.drafting
        return sums

    def copy(self) -> AnswerStatistics:
        """A snapshot that later steps do not change."""
        return replace(
            self,
            by_source={name: replace(count) for name, count in self.by_source.items()},
            by_depth={depth: replace(count) for depth, count in self.by_depth.items()},
        )

    @property
    def generation_seconds(self) -> float:
        """Time spent on writing, reading the prompt not included."""
        return self.draft_seconds + self.decode_seconds + self.sampling_seconds + self.other_seconds

    @property
    def tokens_per_step(self) -> float | None:
        """τ; 1.0 means no gain. None before the first step."""
        return ratio(self.emitted, self.steps)

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted over tested nodes, 0 to 1. None when nothing was tested."""
        return ratio(self.accepted, self.tested)

    @property
    def tokens_per_second(self) -> float | None:
        """Writing speed; None while unknown. The first token comes out of reading the prompt, so
        it is left out."""
        return ratio(self.emitted - 1, self.generation_seconds) if self.emitted > 1 else None

    @property
    def speed_up(self) -> float | None:
        """Time of plain decoding over the time taken, both measured; None while either is
        unknown."""
        if self.plain_seconds is None or self.emitted < 2:
            return None
        return ratio(self.plain_seconds, self.generation_seconds)


def _merge(into: dict[_Key, Count], more: dict[_Key, Count]) -> None:
    for key, count in more.items():
        total = into.setdefault(key, Count())
        total.drafted += count.drafted
        total.tested += count.tested
        total.accepted += count.accepted
