"""What the screen shows of a chat: turns, where their tokens came from, and sums over answers."""

from __future__ import annotations

from dataclasses import dataclass

from sssd_chat.generation.statistics import AnswerStatistics


@dataclass(frozen=True, slots=True)
class AnswerParameters:
    """How the answers of a chat are to be written. None is what the settings say."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repeat_penalty: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    thinking: bool | None = None
    """Whether the model is asked to think first, where its template can ask for that."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of an answer that was drafted from one place."""

    start: int
    """Its first character in the text of the answer, thinking not counted."""
    end: int
    """The character after its last one."""
    source: str
    """The name of the source; for the datastore that of the collection."""
    document: str = ""
    """The document in the collection; "chat/turn" for an answer in the collection of chats. Empty
    for sources that are no collection, and while it is not known yet."""
    title: str = ""
    """The chat or the document, for people to read; empty like `document`, and when it is gone."""
    chat: int | None = None
    """The earlier chat that it was taken from."""
    turn: int | None = None
    """The answer in that chat."""


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """One turn of a chat that is opened."""

    id: int | None
    """Its number, by which commands name it. Below zero for a turn that is not in the history:
    such a number is good until the program ends."""
    role: str
    """"user" or "assistant"."""
    text: str
    thinking: str = ""
    """What the model thought before its answer."""
    complete: bool = True
    """False for an answer that was stopped, failed, or cut off by the end of the program."""
    model: str = ""
    """The model that answered, or was asked."""
    position: int = 0
    """Its place among the turns that follow the same one, oldest first, from 0."""
    siblings: int = 1
    """How many such turns there are, itself included."""
    statistics: AnswerStatistics | None = None
    """What an answer cost and gained; None when it is not known."""
    spans: tuple[Span, ...] = ()
    """What of an answer was drafted, in order."""
    created: float = 0.0
    """Seconds since 1970."""
    parameters: AnswerParameters = AnswerParameters()
    """What an answer was written with: the values in use, those of the settings too."""


@dataclass(frozen=True, slots=True)
class WeekSpeed:
    """All answers of a week."""

    start: float
    """The Monday (UTC) with which it begins, in seconds since 1970."""
    tokens: int
    speed_up: float | None
    """Time of plain decoding over the time taken; None when neither was measured."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """All answers of the history."""

    tokens: int = 0
    seconds_saved: float = 0.0
    """Time of plain decoding less the time taken."""
    answers: int = 0
    weeks: tuple[WeekSpeed, ...] = ()
    """Weeks with an answer, oldest first."""
