"""What widgets tell their screen."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message


@dataclass
class QuestionEntered(Message):
    """The user pressed Enter in the prompt."""

    text: str
    """The question, pasted blocks expanded."""


@dataclass
class AttachWanted(Message):
    """The user wants a document to go along with the next question."""

    path: str
    """As it was typed; empty when nothing was."""


@dataclass
class DetachWanted(Message):
    """The user wants no document to go along."""


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
