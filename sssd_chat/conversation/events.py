"""What the engine thread tells the screen, and what the screen may ask of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from sssd_chat.conversation.protocol import ChatBackend
from sssd_chat.conversation.shown import (
    AnswerParameters,
    Lifetime,
    ShownTurn,
    Span,
    WeekSpeed,
)
from sssd_chat.generation.statistics import (
    AnswerStatistics,
    Drafting,
    DraftShape,
    StepStatistics,
    StoppedBy,
)

__all__ = [
    "AnswerDone",
    "AnswerFailed",
    "AnswerParameters",
    "AnswerStatistics",
    "AnswerStep",
    "Attached",
    "AttachmentsChanged",
    "ChatBackend",
    "ChatOpened",
    "ContextFilled",
    "CostCurve",
    "DraftShape",
    "Drafting",
    "Event",
    "Lifetime",
    "LifetimeChanged",
    "ModelFailed",
    "ModelInfo",
    "ModelLoading",
    "ModelReady",
    "Notice",
    "PromptRead",
    "QuestionKept",
    "ShownTurn",
    "Span",
    "StepStatistics",
    "StoppedBy",
    "TitleChanged",
    "TokensCounted",
    "TurnDeleted",
    "TurnsLeftOut",
    "VerifyDone",
    "VerifyRunning",
    "WeekSpeed",
]


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The loaded model, as far as the screen shows it."""

    name: str
    path: str
    description: str
    """Architecture, size and quantization, e.g. "llama 135M Q4_1"."""
    context_length: int
    """Tokens that fit into the context."""
    threads: int
    gpu: bool
    """Whether layers were offloaded."""
    drafting: Drafting
    """ON, or why no draft will ever be made with this model."""
    shape: DraftShape = DraftShape.TREES
    """What drafts may look like with this model."""


@dataclass(frozen=True, slots=True)
class ChatOpened:
    """The chat goes on with these turns, in place of whatever is shown. Comes once at the start,
    before the model is there, and whenever another chat or branch is to be shown."""

    chat: int | None
    """Its number; None for one that is not in the history (yet)."""
    title: str = ""
    turns: tuple[ShownTurn, ...] = ()
    system: str = ""
    """Its system prompt."""
    parameters: AnswerParameters = field(default_factory=AnswerParameters)
    prompt: str = ""
    """What stood in the prompt when the chat was left."""


@dataclass(frozen=True, slots=True)
class ModelLoading:
    """The model is being read; `progress` is 0 to 1."""

    progress: float


@dataclass(frozen=True, slots=True)
class ModelReady:
    """Questions can be answered now."""

    info: ModelInfo


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """The model could not be loaded; `message` says why and what to do, in one sentence."""

    message: str


@dataclass(frozen=True, slots=True)
class PromptRead:
    """So many tokens of the prompt have been read; `reused` of them without work."""

    done: int
    total: int
    reused: int


@dataclass(frozen=True, slots=True)
class ContextFilled:
    """So many tokens of the chat are in the context; not because a question was asked, but because
    a kept state was loaded or a draft was read ahead."""

    tokens: int


@dataclass(frozen=True, slots=True)
class TurnsLeftOut:
    """So many of the oldest turns (a question and its answer each, answers of no tokens not
    counted) are no longer in the prompt, because they do not fit into the context."""

    turns: int


@dataclass(frozen=True, slots=True)
class QuestionKept:
    """The question that is about to be answered is kept, or is not to be kept."""

    turn: int
    """Its number, see `ShownTurn.id`."""
    position: int
    siblings: int


@dataclass(frozen=True, slots=True)
class AnswerStep:
    """One step of the answer. `text` is what became final with it; it may be empty while a
    character or a possible stop string is incomplete."""

    text: str
    step: StepStatistics
    answer: AnswerStatistics
    """The sums so far. The object belongs to the receiver."""
    thinking: str = ""
    """What became final of the thinking before the answer."""
    spans: tuple[Span, ...] = ()
    """What of the text so far is known to be drafted since the last step, without documents and
    titles, which AnswerDone brings. A span that begins where the last one began replaces it."""


@dataclass(frozen=True, slots=True)
class AnswerDone:
    """The answer is complete, or was stopped. `text` is all of it."""

    text: str
    stopped_by: StoppedBy
    answer: AnswerStatistics
    thinking: str = ""
    """All of the thinking before the answer."""
    turn: int | None = None
    """Its number, see `ShownTurn.id`; None when it has not a single token."""
    position: int = 0
    siblings: int = 1
    spans: tuple[Span, ...] = ()
    """What of the text was drafted, in order."""
    parameters: AnswerParameters = field(default_factory=AnswerParameters)
    """What it was written with: the values in use, those of the settings too."""


@dataclass(frozen=True, slots=True)
class AnswerFailed:
    """The answer could not be given; what was written so far stays."""

    message: str
    text: str = ""
    thinking: str = ""
    turn: int | None = None
    """The number of what was written, see `ShownTurn.id`; None when nothing was."""
    position: int = 0
    siblings: int = 1
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnDeleted:
    """The turn is taken out, with all that follow it. ChatOpened comes too where another branch
    takes its place."""

    turn: int


@dataclass(frozen=True, slots=True)
class TitleChanged:
    """The open chat has this title now."""

    chat: int
    title: str


@dataclass(frozen=True, slots=True)
class VerifyRunning:
    """The last answer is being replayed."""

    done: int
    total: int
    """Tokens."""


@dataclass(frozen=True, slots=True)
class VerifyDone:
    """The last answer was replayed, or could not be."""

    ok: bool
    """Whether it is the same, or differs by rounding alone."""
    summary: str
    """The outcome in one sentence."""


@dataclass(frozen=True, slots=True)
class TokensCounted:
    """What `count_tokens` asked for."""

    tokens: int
    """Of the text."""
    total: int
    """Of the context when the text is asked: the chat, the attached documents and the text."""


@dataclass(frozen=True, slots=True)
class LifetimeChanged:
    """What drafts saved so far; at the start and after each answer."""

    lifetime: Lifetime


@dataclass(frozen=True, slots=True)
class CostCurve:
    """What a step costs at the present length of the context: batches of so many tokens take so
    many milliseconds. Comes when that changed."""

    sizes: tuple[int, ...]
    milliseconds: tuple[float, ...]
    chosen: int | None
    """The size of the last batch; None before the first step."""


@dataclass(frozen=True, slots=True)
class Attached:
    """A document that goes along with the next question."""

    name: str
    lines: int
    tokens: int


@dataclass(frozen=True, slots=True)
class AttachmentsChanged:
    """These documents go along with the next question."""

    documents: tuple[Attached, ...]


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the user should know, in one sentence."""

    message: str
    severity: str = field(default="information")
    """"information", "warning" or "error"."""


Event = (
    ChatOpened
    | ModelLoading
    | ModelReady
    | ModelFailed
    | PromptRead
    | ContextFilled
    | TurnsLeftOut
    | QuestionKept
    | AnswerStep
    | AnswerDone
    | AnswerFailed
    | TurnDeleted
    | TitleChanged
    | VerifyRunning
    | VerifyDone
    | TokensCounted
    | LifetimeChanged
    | CostCurve
    | AttachmentsChanged
    | Notice
)
