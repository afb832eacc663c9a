"""The events that wait for the screen."""

from __future__ import annotations

import queue
import threading

from sssd_chat import paths
from sssd_chat.conversation.events import Event

_WAITING_EVENTS = 1024


class Outbox:
    """A queue of bounded length: a screen that does not read holds up the engine, not memory."""

    def __init__(self) -> None:
        self.closing = threading.Event()
        """Set at the end, when nobody reads any more."""
        self._events: queue.Queue[Event] = queue.Queue(_WAITING_EVENTS)

    def emit(self, event: Event) -> None:
        """Adds an event. At the end it is dropped."""
        while not self.closing.is_set():
            try:
                self._events.put(event, timeout=0.1)
            except queue.Full:
                continue
            return

    def take(self) -> list[Event]:
        """The events since the last call, oldest first."""
        events: list[Event] = []
        while True:
            try:
                events.append(self._events.get_nowait())
            except queue.Empty:
                return events


def inside_problem() -> str:
    """What is said of a fault of the program itself."""
    return f"Something went wrong inside the program; {paths.log_file()} has the details."
