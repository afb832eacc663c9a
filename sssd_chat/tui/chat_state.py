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
    ChatOpened,
    ContextFilled,
    CostCurve,
    Drafting,
    Event,
    Lifetime,
    LifetimeChanged,
    ModelFailed,
    ModelInfo,
    ModelLoading,
    ModelReady,
    PromptRead,
    StepStatistics,
    StoppedBy,
    TitleChanged,
    TurnsLeftOut,
)

_STEPS_SHOWN = 200
_STEPS_CALLED_NOW = 8
_FULL = 0.98
"""The share of the context from which on it is called full: hardly an answer fits any more."""

_PLACES_OF_SOURCES = {"conversation": 0, "chats": 1, "runner-ups": 3, "starter": 4}
_PLACE_OF_COLLECTIONS = 2
_PARTS_OF_TIME = ("draft", "verify", "sampling", "other")


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
    chat: int | None = None
    """The number of the open chat; None while it is not in the history."""
    title: str = ""
    """Of the open chat."""
    model: ModelInfo | None = None
    prompt: PromptRead | None = None
    """How far the prompt of the current answer has been read."""
    answer: AnswerStatistics | None = None
    """The numbers of the current answer, or of the last one."""
    stopped_by: StoppedBy | None = None
    """Why the last answer ended; None while one is written and before the first."""
    cost: CostCurve | None = None
    """What steps cost with this model on this machine."""
    lifetime: Lifetime | None = None
    """Sums over all answers of all chats."""
    context_tokens: int | None = None
    turns_left_out: int = 0
    """The oldest turns that no longer fit into the context."""
    drafts_wanted: bool = True
    """Whether the user has drafts switched on."""
    tokens_of_steps: deque[int] = field(default_factory=lambda: deque(maxlen=_STEPS_SHOWN))
    """Tokens that each of the last steps gave, oldest first."""
    acceptance_of_steps: deque[float | None] = field(
        default_factory=lambda: deque(maxlen=_STEPS_SHOWN)
    )
    """After each of the last steps, the acceptance rate over the last few of them."""
    source_names: list[str] = field(default_factory=list)
    """All sources seen in this chat, in the order in which they are shown."""
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
        self.stopped_by = None

    def stop_asked(self) -> None:
        """The user wants the running answer to stop."""
        self.phase = Phase.STOPPING

    def cleared(self) -> None:
        """Another chat is shown, or an empty one."""
        self.prompt = None
        self.answer = None
        self.stopped_by = None
        self.context_tokens = 0 if self.model else None
        self.turns_left_out = 0
        self.tokens_of_steps.clear()
        self.acceptance_of_steps.clear()
        self.source_names.clear()
        self._last_steps.clear()

    def apply(self, event: Event) -> None:
        """Takes in an event."""
        match event:
            case ModelLoading() | ModelReady() | ModelFailed():
                self._apply_to_model(event)
            case ChatOpened(chat=chat, title=title):
                if chat is None or chat != self.chat:
                    self.cleared()
                self.chat, self.title = chat, title
            case TitleChanged(chat, title):
                self.chat, self.title = chat, title
            case PromptRead():
                self.prompt = event
                self.context_tokens = event.done
            case ContextFilled(tokens):
                self.context_tokens = tokens
            case TurnsLeftOut(turns):
                self.turns_left_out = turns
            case AnswerStep(step=step, answer=answer):
                self._step(step, answer)
            case AnswerDone(stopped_by=stopped_by, answer=answer):
                self.answer = answer
                self.stopped_by = stopped_by
                self.phase = self._resting()
            case AnswerFailed():
                self.phase = self._resting()
            case LifetimeChanged(lifetime):
                self.lifetime = lifetime
            case CostCurve():
                self.cost = event
            case _:
                pass

    def _apply_to_model(self, event: ModelLoading | ModelReady | ModelFailed) -> None:
        match event:
            case ModelLoading(progress):
                self.loading_progress = progress
                if self.model is not None or self.phase is Phase.FAILED:
                    # Another one takes the place of what there was.
                    self.model = self.cost = None
                    self.phase = Phase.WAITING if self.busy else Phase.LOADING
            case ModelReady(info):
                self.model = info
                if info.drafting is Drafting.OFF_BY_USER:
                    self.drafts_wanted = False
                self.context_tokens = 0
                self.phase = Phase.READING if self.phase is Phase.WAITING else self.phase
                self.phase = Phase.READY if self.phase is Phase.LOADING else self.phase
            case ModelFailed():
                self.phase = Phase.FAILED

    def _resting(self) -> Phase:
        return Phase.READY if self.model else Phase.LOADING

    def _step(self, step: StepStatistics, answer: AnswerStatistics) -> None:
        self.answer = answer
        self.context_tokens = step.context_tokens
        self.tokens_of_steps.append(step.emitted)
        self._last_steps.append(step)
        tested = sum(step.tested for step in self._last_steps)
        accepted = sum(step.accepted for step in self._last_steps)
        self.acceptance_of_steps.append(accepted / tested if tested else None)
        names = {*map(_shown_source, answer.by_source), *self.source_names}
        if len(names) > len(self.source_names):
            self.source_names = sorted(names, key=_place_of_source)
        if self.phase is not Phase.STOPPING:
            self.phase = Phase.WRITING

    @property
    def speed_now(self) -> float | None:
        """Tokens/s of the last few steps while an answer is written, then of the whole answer."""
        if self.answer is None or self.phase is not Phase.WRITING:
            return self.answer.tokens_per_second if self.answer else None
        own = list(self._last_steps)[-self.answer.steps :]
        timed = [(step.emitted, _seconds(step)) for step in own]
        # The first token comes out of reading the prompt and took no time of its own.
        tokens = sum(emitted for emitted, seconds in timed if seconds > 0)
        seconds = sum(seconds for _, seconds in timed)
        return tokens / seconds if tokens and seconds else None

    @property
    def time_by_part(self) -> dict[str, float | None]:
        """The parts of the time of writing with their shares, 0 to 1, in the order of a step; None
        while unknown."""
        answer = self.answer
        whole = answer.generation_seconds if answer else 0.0
        if answer is None or not whole:
            return dict.fromkeys(_PARTS_OF_TIME)
        parts = (
            answer.draft_seconds,
            answer.decode_seconds,
            answer.sampling_seconds,
            answer.other_seconds,
        )
        return {name: part / whole for name, part in zip(_PARTS_OF_TIME, parts, strict=True)}

    @property
    def context_is_full(self) -> bool:
        """Whether there is no room for another answer without leaving something out."""
        return self.stopped_by is StoppedBy.CONTEXT or (self.context_share or 0.0) >= _FULL

    @property
    def batch_size(self) -> int | None:
        """Tokens that the last step checked at once, the root included; None before the first."""
        if self._last_steps:
            return self._last_steps[-1].draft_size + 1
        return self.cost.chosen if self.cost else None

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


def _place_of_source(name: str) -> tuple[int, str]:
    """The chat itself, earlier chats, the user's collections, what the model gave, what came with
    the program."""
    return _PLACES_OF_SOURCES.get(name, _PLACE_OF_COLLECTIONS), name


def _seconds(step: StepStatistics) -> float:
    return step.draft_seconds + step.decode_seconds + step.sampling_seconds + step.other_seconds
