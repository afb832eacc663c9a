"""What is asked of the scheduler, and what it tells."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from sssd_chat.generation.answer import Answer, GenerationSettings
from sssd_chat.generation.statistics import AnswerStatistics, StoppedBy
from sssd_chat.llama.logprobs import TokenLogprob


@dataclass(frozen=True, slots=True)
class Request:
    """One answer to write."""

    prompt: tuple[int, ...]
    """Tokens of the prompt, at least one."""
    settings: GenerationSettings = field(default_factory=GenerationSettings)
    logprobs: int | None = None
    """Whether each token is to come with its logarithm of probability, and with those of so many
    of the most probable ones; None for neither."""


class Phase(Enum):
    """What a ticket waits for or does."""

    QUEUED = "queued"
    READING = "reading"
    WRITING = "writing"
    FINISHED = "finished"


@dataclass(slots=True)
class Times:
    """When things happened to a request, in seconds of the scheduler's clock; None for not yet."""

    admitted: float | None = None
    """When reading its prompt began, the first time."""
    first_token: float | None = None
    finished: float | None = None


@dataclass(slots=True, eq=False)
class Ticket:
    """A request on its way. Only the thread of the scheduler may look into it."""

    number: int
    """In the order of arrival."""
    request: Request
    answer: Answer
    """The tokens, the text and the sampler: kept when the sequence loses its place."""
    phase: Phase = Phase.QUEUED
    preemptions: int = 0
    """How often it lost its place to older ones."""
    times: Times = field(default_factory=Times)


@dataclass(frozen=True, slots=True)
class Progress:
    """What one step brought to one request. The last one says how it ended."""

    ticket: Ticket
    tokens: tuple[int, ...] = ()
    """Tokens that joined the answer, an end token included."""
    text: str = ""
    """Text that became final: a possible beginning of a stop string is held back."""
    logprobs: tuple[TokenLogprob, ...] = ()
    """One for each of `tokens`, if they were asked for."""
    read: int = 0
    """Tokens of the prompt that are read, those that had been read before included."""
    finished: StoppedBy | None = None
    """Why the answer ended; with it, or with an error, nothing more comes."""
    error: str | None = None
    """One sentence that says why the answer could not be written (to its end)."""
    statistics: AnswerStatistics | None = None
    """Of the whole answer, with the last progress alone."""
    times: Times | None = None
    """With the last progress alone."""

    @property
    def is_last(self) -> bool:
        """Whether nothing more comes."""
        return self.finished is not None or self.error is not None
