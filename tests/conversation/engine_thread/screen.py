"""What stands for the screen, before the real engine thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from sssd_chat.conversation.engine_thread import EngineThread
from sssd_chat.conversation.events import Event

_Kind = TypeVar("_Kind")


class Screen:
    """Collects events until one of a kind comes."""

    def __init__(self, backend: EngineThread) -> None:
        self.backend = backend
        self.seen: list[Event] = []
        self.coming: list[Event] = []

    def wait_for(self, *kinds: type) -> Event:
        until = time.monotonic() + 20
        while time.monotonic() < until:
            self.coming += self.backend.events()
            while self.coming:
                event = self.coming.pop(0)
                self.seen.append(event)
                if isinstance(event, kinds):
                    return event
            time.sleep(0.002)
        raise AssertionError(f"no {kinds} in {self.seen[-5:]}")

    def get(self, kind: type[_Kind]) -> _Kind:
        """The next event of a kind."""
        event = self.wait_for(kind)
        assert isinstance(event, kind)
        return event

    def of(self, kind: type[_Kind]) -> list[_Kind]:
        """Those of a kind so far."""
        return [event for event in self.seen if isinstance(event, kind)]


Start = Callable[..., Screen]
