"""What the turns of a chat hold, and what can be done with each. No widgets."""

from __future__ import annotations

from dataclasses import dataclass, field

from sssd_chat.conversation.attachments import shortened, split_attachments
from sssd_chat.conversation.events import (
    AnswerParameters,
    AnswerStatistics,
    ShownTurn,
    Span,
    StoppedBy,
)
from sssd_chat.text import counted
from sssd_chat.tui.figures import decimal, times

_UNNAMED = "Assistant"
"""Who answered in a chat of another program that does not say."""

_ENDINGS = {
    StoppedBy.CANCELLED: "■ stopped",
    StoppedBy.LENGTH: "▲ cut at the token limit",
    StoppedBy.CONTEXT: "▲ cut, the context is full",
}

_CHANGES = frozenset(
    {
        "edit_message",
        "regenerate",
        "regenerate_with",
        "continue_answer",
        "delete_message",
        "previous_branch",
        "next_branch",
    }
)
"""The actions that change the chat."""

CUT = "-cut"
FAILED = "-failed"
"""Style classes of the line below an answer."""


@dataclass(slots=True)
class Said:
    """What a turn holds. It stays when the turn is taken off the screen."""

    text: str = ""
    """As it was asked or written, with a line in place of each document that went along."""
    speaker: str = ""
    """The model that answered; empty in a question."""
    note: str = ""
    """The line below an answer."""
    style: str = ""
    """The style class of the note."""
    thinking: str = ""
    """What the model thought before an answer."""
    parameters: AnswerParameters = field(default_factory=AnswerParameters)
    """What an answer was written with."""
    joined: bool = False
    """Whether an answer became part of the chat, with its question: not one without a token."""
    left_out: bool = False
    """Whether an answer is the last one that is no longer in the prompt."""
    turn: int | None = None
    """Its number for the backend; None while it has none."""
    position: int = 0
    """Its place among the turns that follow the same one, from 0."""
    siblings: int = 1
    """How many such turns there are, itself included."""
    statistics: AnswerStatistics | None = None
    spans: tuple[Span, ...] = ()
    """What of an answer was drafted."""
    created: float = 0.0
    """Seconds since 1970; 0 when it is not known."""
    question: str = ""
    """A question without the documents that went along; what is edited."""

    @classmethod
    def restored(cls, turn: ShownTurn) -> Said:
        """A turn of an earlier chat."""
        said = cls(
            turn=turn.id,
            position=turn.position,
            siblings=turn.siblings,
            created=turn.created,
        )
        if turn.role == "user":
            said.text, said.question = shortened(turn.text), split_attachments(turn.text)[1]
            return said
        said.text, said.thinking = turn.text, turn.thinking
        said.speaker = turn.model.strip() or _UNNAMED
        said.joined = bool(turn.text or turn.thinking)
        said.statistics, said.spans, said.parameters = turn.statistics, turn.spans, turn.parameters
        cost = answer_cost(turn.statistics) if turn.statistics else []
        if not turn.complete:
            said.style = CUT
            cost.insert(0, "■ not complete")
        said.note = " · ".join(cost)
        return said

    @property
    def is_answer(self) -> bool:
        """Whether the model said it."""
        return bool(self.speaker)

    @property
    def branch(self) -> str:
        """Which of its siblings it is, e.g. "‹ 2/3 ›"; empty when it has none."""
        return f"‹ {self.position + 1}/{self.siblings} ›" if self.siblings > 1 else ""

    def end(self, text: str, stopped_by: StoppedBy, statistics: AnswerStatistics | None) -> None:
        """The answer is over: takes in how, and what it cost."""
        self.text, self.statistics = text, statistics
        self.joined = statistics is not None and statistics.emitted > 0
        parts = [_ENDINGS[stopped_by]] if stopped_by in _ENDINGS else []
        if not text.strip() and not self.thinking:
            parts.insert(0, "nothing was written")
        parts += answer_cost(statistics) if statistics else []
        self.note = " · ".join(parts)
        self.style = CUT if stopped_by in _ENDINGS else ""


def answer_cost(statistics: AnswerStatistics) -> list[str]:
    """What an answer cost and gained, in a few words each."""
    parts = [counted(statistics.emitted, "token")]
    if statistics.tokens_per_second is not None:
        parts.append(f"{decimal(statistics.tokens_per_second)} tokens/s")
    if statistics.speed_up is not None:
        parts.append(f"{times(statistics.speed_up)} plain")
    if statistics.tokens_per_step is not None:
        parts.append(f"{decimal(statistics.tokens_per_step, 2)} tokens/step")
    return parts


def hindrance(action: str, said: Said, *, last: bool, busy: bool) -> str:
    """Why an action on messages makes no sense for this one now, as a sentence; empty when it
    does. `last` is the last turn; while `busy`, an answer is being written."""
    if action in _CHANGES and busy:
        return "An answer is on its way; Esc stops it."
    if action in _CHANGES and said.turn is None:
        return "This message is not part of the chat."
    fits, sentence = {
        "copy_message": (bool(said.text), "This message is empty."),
        "copy_code": (
            said.is_answer and ("```" in said.text or "~~~" in said.text),
            "This message has no block of code.",
        ),
        "edit_message": (not said.is_answer, "Only questions can be edited."),
        "continue_answer": (said.is_answer and last, "Only the last answer can go on."),
        "previous_branch": (said.position > 0, "There is no branch before this one."),
        "next_branch": (
            said.position + 1 < said.siblings,
            "There is no branch after this one.",
        ),
        "message_statistics": (
            said.statistics is not None,
            "How this was written is not known.",
        ),
    }.get(action, (True, ""))
    return "" if fits else sentence
