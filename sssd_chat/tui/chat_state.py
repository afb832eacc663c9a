"""What the screen knows about the model, the running answer and its numbers. No widgets."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from enum import Enum

from sssd_chat.conversation.events import (
    AnswerDone,
    AnswerFailed,
    AnswerStatistics,
    AnswerStep,
    ContextFilled,
    Drafting,
    Event,
    ModelFailed,
    ModelInfo,
    ModelLoading,
    ModelReady,
    PromptRead,
    StepStatistics,
    TurnsLeftOut,
)

_STEPS_SHOWN = 200
_STEPS_CALLED_NOW = 8


class Phase(Enum):
    """What is going on."""

    LOADING = "loading the model"
    FAILED = "no model"
    READY = "ready"
    WAITING = "waiting for the model"
    READING = "reading the prompt"
    WRITING = "writing"
    STOPPING = "stopping"


_BUSY = frozenset({Phase.WAITING, Phase.READING, Phase.WRITING, Phase.STOPPING})


@dataclass(slots=True)
class ChatState:
    """The state of a chat, moved on by the events of the backend and by what the user does."""

    phase: Phase = Phase.LOADING
    loading_progress: float = 0.0
    """0 to 1."""
    model: ModelInfo | None = None
    prompt: PromptRead | None = None
    """How far the prompt of the current answer has been read."""
    answer: AnswerStatistics | None = None
    """The numbers of the current answer, or of the last one."""
    context_tokens: int | None = None
    turns_left_out: int = 0
    """The oldest turns that no longer fit into the context."""
    drafts_wanted: bool = True
    """Whether the user has drafts switched on."""
    tokens_of_steps: deque[int] = field(default_factory=lambda: deque(maxlen=_STEPS_SHOWN))
    """Tokens that each of the last steps gave, oldest first."""
    source_names: list[str] = field(default_factory=list)
    """All sources seen in this chat, so that their rows keep their places."""
    _last_steps: deque[StepStatistics] = field(
        default_factory=lambda: deque(maxlen=_STEPS_CALLED_NOW)
    )

    @property
    def busy(self) -> bool:
        """Whether a question is being answered or waits for the model."""
        return self.phase in _BUSY

    def asked(self) -> None:
        """A question was sent."""
        self.phase = Phase.WAITING if self.model is None else Phase.READING
        self.prompt = None

    def stop_asked(self) -> None:
        """The user wants the running answer to stop."""
        self.phase = Phase.STOPPING

    def cleared(self) -> None:
        """A new chat began."""
        self.phase = Phase.READY if self.model else self.phase
        self.prompt = None
        self.answer = None
        self.context_tokens = 0 if self.model else None
        self.turns_left_out = 0
        self.tokens_of_steps.clear()
        self.source_names.clear()
        self._last_steps.clear()

    def apply(self, event: Event) -> None:
        """Takes in an event."""
        match event:
            case ModelLoading(progress):
                self.loading_progress = progress
            case ModelReady(info):
                self.model = info
                if info.drafting is Drafting.OFF_BY_USER:
                    self.drafts_wanted = False
                self.context_tokens = 0
                self.phase = Phase.READING if self.phase is Phase.WAITING else self.phase
                self.phase = Phase.READY if self.phase is Phase.LOADING else self.phase
            case ModelFailed():
                self.phase = Phase.FAILED
            case PromptRead():
                self.prompt = event
                self.context_tokens = event.done
            case ContextFilled(tokens):
                self.context_tokens = tokens
            case TurnsLeftOut(turns):
                self.turns_left_out = turns
            case AnswerStep(step=step, answer=answer):
                self._step(step, answer)
            case AnswerDone(answer=answer):
                self.answer = answer
                self.phase = self._resting()
            case AnswerFailed():
                self.phase = self._resting()
            case _:
                pass

    def _resting(self) -> Phase:
        return Phase.READY if self.model else Phase.LOADING

    def _step(self, step: StepStatistics, answer: AnswerStatistics) -> None:
        self.answer = answer
        self.context_tokens = step.context_tokens
        self.tokens_of_steps.append(step.emitted)
        self._last_steps.append(step)
        names = dict.fromkeys(map(_shown_source, answer.by_source))
        self.source_names += [name for name in names if name not in self.source_names]
        if self.phase is not Phase.STOPPING:
            self.phase = Phase.WRITING

    @property
    def drafting(self) -> Drafting:
        """Whether drafts are in use now. One step without a draft among others that have one is
        not called off, or the display would flicker."""
        if self.model and self.model.drafting is Drafting.IMPOSSIBLE:
            return Drafting.IMPOSSIBLE
        if not self.drafts_wanted:
            return Drafting.OFF_BY_USER
        if self._last_steps and all(
            step.drafting is Drafting.OFF_BY_COST for step in self._last_steps
        ):
            return Drafting.OFF_BY_COST
        return Drafting.ON

    @property
    def draft_size(self) -> float | None:
        """Mean size of the drafts of the last few steps, in tokens."""
        if not self._last_steps:
            return None
        return sum(step.draft_size for step in self._last_steps) / len(self._last_steps)

    def shares_by_source(self) -> list[tuple[str, float | None]]:
        """Each source with its share of the accepted tokens of the answer, 0 to 1; None while
        nothing was accepted."""
        counts = self.answer.by_source if self.answer else {}
        accepted: Counter[str] = Counter()
        for name, count in counts.items():
            accepted[_shown_source(name)] += count.accepted
        total = sum(accepted.values())
        return [(name, accepted[name] / total if total else None) for name in self.source_names]

    @property
    def context_share(self) -> float | None:
        """How full the context is, 0 to 1."""
        if self.model is None or self.context_tokens is None or not self.model.context_length:
            return None
        return self.context_tokens / self.model.context_length


def _shown_source(name: str) -> str:
    """The collections that came with the program, `starter/…`, are one to a reader."""
    return "starter" if name.startswith("starter/") else name
