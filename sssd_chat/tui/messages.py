"""What widgets tell their screen."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from sssd_chat.config import Config
from sssd_chat.tui.actions import Action
from sssd_chat.tui.said import Said


@dataclass
class QuestionEntered(Message):
    """The user pressed Enter in the prompt."""

    text: str
    """The question, pasted blocks expanded."""


@dataclass
class CommandEntered(Message):
    """The user typed a command instead of a question."""

    action: Action
    argument: str
    """What followed the command; empty when nothing did."""


@dataclass
class CommandUnknown(Message):
    """The user typed what looks like a command, and there is none of the name."""

    command: str


@dataclass
class QuestionHeldBack(Message):
    """The user pressed Enter while an answer is being written."""


@dataclass
class PlaceChanged(Message):
    """The transcript came to its end, or left it."""

    at_end: bool


@dataclass
class FollowRequested(Message):
    """The user clicked the hint that there is more below."""


@dataclass
class AnswerFinished(Message):
    """An answer is there in full."""

    seconds: float
    """How long it took, from the question on."""


@dataclass
class MessageChosen(Message):
    """The user clicked a message."""

    said: Said


@dataclass
class MessageActionWanted(Message):
    """The user clicked one of the actions below a message."""

    said: Said
    action: str
    """Its name in the list of all actions."""


@dataclass
class SpanChosen(Message):
    """The user clicked drafted words of an answer."""

    said: Said
    number: int
    """Which of its spans."""


@dataclass
class LinkChosen(Message):
    """The user clicked a link in an answer."""

    address: str
    """As the model wrote it."""


@dataclass
class ModelChosen(Message):
    """The user chose the first model."""

    path: str


@dataclass
class SettingsChanged(Message):
    """The user changed the settings file."""

    config: Config
