"""One answer being written: its settings, its tokens, and the text that became of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic

from sssd_chat.drafting import Drafter
from sssd_chat.generation.guard import DraftGuard
from sssd_chat.generation.looks import TokenSampler
from sssd_chat.generation.provenance import DraftedToken
from sssd_chat.generation.statistics import AnswerStatistics, StepStatistics, StoppedBy
from sssd_chat.generation.stop import StopStrings
from sssd_chat.generation.target import State
from sssd_chat.llama.sampler import SamplerSettings
from sssd_chat.llama.vocabulary import PieceDecoder, Vocabulary


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """How one answer is written."""

    sampler: SamplerSettings = field(default_factory=SamplerSettings)
    max_tokens: int | None = None
    """Tokens of the answer; None for as many as the context holds."""
    stop: tuple[str, ...] = ()
    """Strings that end the answer; they are not part of it."""
    drafting: bool = True


@dataclass(slots=True)
class Conversation(Generic[State]):
    """One text in the target's cache with the drafter that knows it. Lives over many answers."""

    state: State
    drafter: Drafter
    guard: DraftGuard = field(default_factory=DraftGuard)
    since_plain: int = 0
    """Steps since the last one without a draft."""
    is_behind: bool = False
    """Whether the drafter has not seen the end of the text: with drafts switched off nothing is
    spent on it."""


@dataclass(slots=True)
class Step:
    """What one step added to one answer."""

    tokens: list[int]
    text: str
    """What became final; a possible beginning of a stop string is held back."""
    statistics: StepStatistics


@dataclass(slots=True)
class Answer:
    """What is written, and what it takes to go on: nothing of it is in the target's cache."""

    settings: GenerationSettings
    sampler: TokenSampler
    statistics: AnswerStatistics
    prompt: list[int]
    """Tokens of the prompt."""
    tokens: list[int] = field(default_factory=list)
    """All tokens emitted, an end token included."""
    drafted: list[DraftedToken] = field(default_factory=list)
    """Those of them that were drafted."""
    text: str = ""
    stopped_by: StoppedBy | None = None
    decoder: PieceDecoder = field(default_factory=PieceDecoder)
    stops: StopStrings = field(default_factory=lambda: StopStrings(()))
    fresh_text: list[str] = field(default_factory=list)

    @property
    def is_finished(self) -> bool:
        """Whether the answer has ended."""
        return self.stopped_by is not None

    @property
    def root(self) -> int:
        """The last emitted token, whose KV entry does not exist yet."""
        return self.tokens[-1]

    def emit(self, token: int, vocabulary: Vocabulary) -> bool:
        """Adds a token to the answer; True when the answer ends with it."""
        self.tokens.append(token)
        if vocabulary.is_end_of_generation(token):
            self.finish(StoppedBy.END)
            return True
        piece = self.decoder.feed(vocabulary.piece(token))
        self._add_text(self.stops.feed(piece))
        limit = self.settings.max_tokens
        if self.stops.found is not None:
            self.finish(StoppedBy.STOP)
        elif limit is not None and len(self.tokens) >= limit:
            self.finish(StoppedBy.LENGTH)
        return self.is_finished

    def finish(self, reason: StoppedBy) -> None:
        """Ends the answer where it is; what was held back becomes final."""
        self.stopped_by = reason
        self._add_text(self.stops.finish())
        self.sampler.close()

    def cancel(self) -> str:
        """Ends the answer unless it has ended; returns the text that had been held back."""
        if not self.is_finished:
            self.finish(StoppedBy.CANCELLED)
        return self.take_text()

    def take_text(self) -> str:
        """The text that became final since the last call."""
        text = "".join(self.fresh_text)
        self.fresh_text.clear()
        return text

    def _add_text(self, text: str) -> None:
        if text:
            self.text += text
            self.fresh_text.append(text)


@dataclass(slots=True)
class Generation(Answer, Generic[State]):
    """An answer in a conversation."""

    conversation: Conversation[State] = field(kw_only=True)
