"""One answer of a request as it grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sssd_chat.conversation.completions.prompting import Prompt
from sssd_chat.conversation.thinking import Parts, ThinkingSplitter
from sssd_chat.generation.batching import Progress, TokenLogprob
from sssd_chat.generation.statistics import AnswerStatistics, StoppedBy

_FINISH_REASONS = {
    StoppedBy.END: "stop",
    StoppedBy.STOP: "stop",
    StoppedBy.LENGTH: "length",
    StoppedBy.CONTEXT: "length",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """What one or several steps added to an answer."""

    text: str = ""
    thinking: str = ""
    logprobs: tuple[TokenLogprob, ...] = ()
    finish_reason: str | None = None
    """As OpenAI calls it; None while the answer goes on, and when it was cancelled."""

    def __add__(self, later: Piece) -> Piece:
        return Piece(
            self.text + later.text,
            self.thinking + later.thinking,
            self.logprobs + later.logprobs,
            later.finish_reason or self.finish_reason,
        )

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in it that a reader could see."""
        return not (self.text or self.thinking or self.logprobs or self.finish_reason)


class Choice:
    """Takes in the progress of one answer and divides it into thinking and text."""

    def __init__(self, index: int, prompt: Prompt, divides_thinking: bool) -> None:
        """`index` is the number of the choice within its request."""
        self.index = index
        self.prompt = prompt
        self.tokens: list[int] = []
        self.whole = Piece()
        """All of the answer so far, without its log-probabilities."""
        self.written = ""
        """The answer as the model wrote it, the marks of its thinking included."""
        self.logprobs: list[TokenLogprob] = []
        self.statistics = AnswerStatistics(prompt_tokens=len(prompt.tokens))
        self.stopped_by: StoppedBy | None = None
        self.error: str | None = None
        """Why the answer could not be written to its end, in one sentence."""
        self._splitter = ThinkingSplitter(prompt.opened) if divides_thinking else None

    @property
    def is_finished(self) -> bool:
        """Whether nothing more comes."""
        return self.stopped_by is not None or self.error is not None

    @property
    def is_complete(self) -> bool:
        """Whether the answer came to an end of its own."""
        return self.stopped_by not in (None, StoppedBy.CANCELLED)

    def add(self, progress: Progress) -> Piece:
        """Takes in what was written; returns what became certain of it."""
        self.tokens += progress.tokens
        self.written += progress.text
        self.statistics = progress.statistics or self.statistics
        self.stopped_by, self.error = progress.finished, progress.error
        parts = self._divided(progress.text, self.is_finished)
        reason = _FINISH_REASONS.get(self.stopped_by) if self.stopped_by else None
        self.whole += Piece(parts.text, parts.thinking, (), reason)
        logprobs = progress.logprobs
        if self.stopped_by is StoppedBy.END:
            # The token that ends an answer is no part of it.
            logprobs = logprobs[:-1]
        self.logprobs += logprobs
        return Piece(parts.text, parts.thinking, logprobs, reason)

    def _divided(self, text: str, is_last: bool) -> Parts:
        if self._splitter is None:
            return Parts(text=text)
        parts = self._splitter.feed(text)
        return parts + self._splitter.finish() if is_last else parts


def choices_for(prompts: Sequence[Prompt], divides_thinking: bool) -> list[Choice]:
    """A choice for each prompt of a request."""
    return [Choice(number, prompt, divides_thinking) for number, prompt in enumerate(prompts)]
