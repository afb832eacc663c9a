"""What the history gives and takes."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

from sssd_chat.errors import UserError


class NoSuchChat(UserError):
    """There is no chat with the number."""

    def __init__(self, chat: int) -> None:
        super().__init__(f"There is no chat {chat}; `sssd-chat chats list` shows those there are.")


class NoSuchTurn(UserError):
    """There is no turn with the number in the chat."""

    def __init__(self) -> None:
        super().__init__("This part of the chat is not there any more.")


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """One turn as the screen and the session need it."""

    role: str
    text: str
    status: str
    """"done", "streaming" (being written, or the program ended a moment ago in the middle of it),
    "stopped" (by the user) or "failed" (an error, or the program ended in the middle of it)."""
    model: str
    """The model that answered, or was asked."""


@dataclass(frozen=True, slots=True)
class NewTurn:
    """A turn to be added."""

    role: str
    """"user" or "assistant"."""
    text: str
    status: str = "done"
    model: str = ""
    tokens: array[int] | None = None
    """The exact token ids, None while they are not known."""
    fingerprint: str = ""
    """Of the vocabulary that `tokens` belong to; empty when it is not known."""
    parameters: str = ""
    """How the answer was asked for (a JSON object); empty when it is not known."""
    statistics: str = ""
    """What its steps cost and gained (a JSON object); empty when it is not known."""
    created: float | None = None
    """Seconds since 1970; None for now."""
    updated: float | None = None
    """Seconds since 1970; None for `created`."""
    spans: str = ""
    """Where its drafted pieces came from, see `packed_spans`."""


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One turn with all that is known about it."""

    id: int
    parent: int | None
    """The turn that it follows; None for the first of the chat."""
    role: str
    text: str
    status: str
    model: str
    tokens: array[int] | None
    fingerprint: str
    parameters: str
    statistics: str
    created: float
    updated: float
    spans: str = ""
    """Where its drafted pieces came from, see `packed_spans`."""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """A finished answer, for what learns from answers."""

    turn: int
    chat: int
    text: str
    tokens: array[int] | None
    """The exact token ids (32 bits each); None for an answer that came from elsewhere."""
    fingerprint: str
    """Of the vocabulary of `tokens`; empty when it is not known."""
    created: float
    """Seconds since 1970."""
    title: str
    """Of the chat."""


@dataclass(frozen=True, slots=True)
class ChatSummary:
    """A chat as lists show it."""

    id: int
    title: str
    created: float
    """Seconds since 1970."""
    updated: float
    """When it was used last; seconds since 1970."""
    turns: int
    """Questions and answers, those of all branches."""
    system: str
    """The system prompt."""
    parameters: str = ""
    """How its answers are to be written (a JSON object); empty for as the settings say."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A chat in which something was found."""

    chat: int
    title: str
    updated: float
    """When the chat was used last; seconds since 1970."""
    turn: int | None
    """The newest turn that holds it; None when only the title does."""
    role: str
    """Of that turn; empty for the title."""
    excerpt: str
    """The text around the first match, on one line."""
    matches: tuple[tuple[int, int], ...]
    """Beginning and end of each match in the excerpt."""
