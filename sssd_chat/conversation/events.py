"""What the engine thread tells the screen, and what the screen may ask of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from sssd_chat.generation.statistics import (
    AnswerStatistics,
    Drafting,
    StepStatistics,
    StoppedBy,
)

__all__ = [
    "AnswerDone",
    "AnswerFailed",
    "AnswerStatistics",
    "AnswerStep",
    "Attached",
    "AttachmentsChanged",
    "ChatBackend",
    "ChatRestored",
    "ContextFilled",
    "Drafting",
    "Event",
    "ModelFailed",
    "ModelInfo",
    "ModelLoading",
    "ModelReady",
    "Notice",
    "PromptRead",
    "RestoredTurn",
    "StepStatistics",
    "StoppedBy",
    "TurnsLeftOut",
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


@dataclass(frozen=True, slots=True)
class RestoredTurn:
    """One turn of an earlier chat."""

    role: str
    """"user" or "assistant"."""
    text: str
    complete: bool
    """False for an answer that was stopped, failed, or cut off by the end of the program."""
    model: str
    """The model that answered, or was asked."""
    thinking: str = ""
    """What the model thought before its answer."""


@dataclass(frozen=True, slots=True)
class ChatRestored:
    """The chat goes on with these turns; comes before anything else."""

    turns: tuple[RestoredTurn, ...]


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
class AnswerStep:
    """One step of the answer. `text` is what became final with it; it may be empty while a
    character or a possible stop string is incomplete."""

    text: str
    step: StepStatistics
    answer: AnswerStatistics
    """The sums so far. The object belongs to the receiver."""
    thinking: str = ""
    """What became final of the thinking before the answer."""


@dataclass(frozen=True, slots=True)
class AnswerDone:
    """The answer is complete, or was stopped. `text` is all of it."""

    text: str
    stopped_by: StoppedBy
    answer: AnswerStatistics
    thinking: str = ""
    """All of the thinking before the answer."""


@dataclass(frozen=True, slots=True)
class AnswerFailed:
    """The answer could not be given; what was written so far stays."""

    message: str
    text: str = ""
    thinking: str = ""


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
    ChatRestored
    | ModelLoading
    | ModelReady
    | ModelFailed
    | PromptRead
    | ContextFilled
    | TurnsLeftOut
    | AnswerStep
    | AnswerDone
    | AnswerFailed
    | AttachmentsChanged
    | Notice
)


class ChatBackend(Protocol):
    """A chat as the screen sees it. No method blocks; answers come as events."""

    def start(self) -> None:
        """Starts the engine thread, which begins to load the model."""

    def send(self, text: str) -> None:
        """Asks a question. Only one at a time: ignored while an answer is being written. A
        question sent while the model loads waits for it."""

    def draft(self, text: str) -> None:
        """What stands in the prompt now. It is read ahead when the engine has nothing else to do,
        and given up by the next call of any kind."""

    def attach(self, path: str) -> None:
        """Lets a document go along with the next question. AttachmentsChanged comes when it is
        read, or a Notice says why it cannot."""

    def detach(self) -> None:
        """No document goes along with the next question."""

    def cancel(self) -> None:
        """Stops the answer being written; its text so far is kept."""

    def new_chat(self) -> None:
        """Forgets the conversation and begins an empty one. Stops a running answer first."""

    def set_drafting(self, on: bool) -> None:
        """Switches drafts on or off from the next step."""

    def events(self) -> list[Event]:
        """The events since the last call, oldest first, at once."""

    def close(self) -> None:
        """Stops the engine thread and frees the model. Waits for the current step at most."""
