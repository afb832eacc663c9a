"""What the engine thread is told to do."""

from __future__ import annotations

import queue
import threading
from collections import deque
from dataclasses import dataclass, field

from sssd_chat.conversation.shown import AnswerParameters


@dataclass(eq=False, slots=True)
class Asking:
    """A command that wants an answer written."""

    stop: threading.Event = field(default_factory=threading.Event, kw_only=True)
    """Set to stop that answer."""
    finished: threading.Event = field(default_factory=threading.Event, kw_only=True)
    """Set before its end is told: whoever was told may ask again."""

    @property
    def is_under_way(self) -> bool:
        """Whether its answer is still wanted."""
        return not (self.stop.is_set() or self.finished.is_set())


@dataclass(eq=False, slots=True)
class Send(Asking):
    """See `ChatBackend.send`."""

    text: str


@dataclass(eq=False, slots=True)
class AskInstead(Asking):
    """See `ChatBackend.ask_instead`."""

    turn: int
    text: str


@dataclass(eq=False, slots=True)
class Regenerate(Asking):
    """See `ChatBackend.regenerate`."""

    turn: int
    parameters: AnswerParameters | None


@dataclass(eq=False, slots=True)
class ContinueAnswer(Asking):
    """See `ChatBackend.continue_answer`."""

    turn: int


@dataclass(eq=False, slots=True)
class Verify(Asking):
    """See `ChatBackend.verify`. It writes no answer, but is stopped like one."""


@dataclass(frozen=True, slots=True)
class NewChat:
    """See `ChatBackend.new_chat`."""


@dataclass(frozen=True, slots=True)
class OpenChat:
    """See `ChatBackend.open_chat`."""

    chat: int


@dataclass(frozen=True, slots=True)
class ChooseSibling:
    """See `ChatBackend.choose_sibling`."""

    turn: int
    step: int


@dataclass(frozen=True, slots=True)
class DeleteTurn:
    """See `ChatBackend.delete_turn`."""

    turn: int


@dataclass(frozen=True, slots=True)
class SetSystem:
    """See `ChatBackend.set_system`."""

    text: str


@dataclass(frozen=True, slots=True)
class SetParameters:
    """See `ChatBackend.set_parameters`."""

    parameters: AnswerParameters


@dataclass(frozen=True, slots=True)
class LoadModel:
    """See `ChatBackend.load_model`."""

    path: str


@dataclass(frozen=True, slots=True)
class Draft:
    """Something else stands in the prompt."""


@dataclass(frozen=True, slots=True)
class Attach:
    """See `ChatBackend.attach`."""

    path: str


@dataclass(frozen=True, slots=True)
class Detach:
    """See `ChatBackend.detach`."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Texts were taken out of everything that was learned from them."""


@dataclass(frozen=True, slots=True)
class Close:
    """The end."""


ChatCommand = NewChat | OpenChat | ChooseSibling | DeleteTurn | SetSystem | SetParameters
"""What needs the chat alone, and no model."""

Action = Asking | ChatCommand | LoadModel | Attach | Detach | Forgotten | Close
Command = Action | Draft


class Inbox:
    """Commands from any thread, in order, for the engine thread."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self._seen: deque[Command] = deque()
        """Those that were looked at and not taken."""

    def put(self, command: Command) -> None:
        """Adds a command."""
        self._waiting.put(command)

    def take(self, seconds: float | None = None) -> Command | None:
        """The next command; None when none came for so long."""
        if self._seen:
            return self._seen.popleft()
        try:
            return self._waiting.get(timeout=seconds)
        except queue.Empty:
            return None

    def peek(self) -> Command | None:
        """The next command, which stays; None when there is none."""
        if not self._seen:
            try:
                self._seen.append(self._waiting.get_nowait())
            except queue.Empty:
                return None
        return self._seen[0]

    def is_empty(self) -> bool:
        """Whether no command waits."""
        return not self._seen and self._waiting.empty()
