"""Chats that were deleted a moment ago, and can still come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.app import App
from textual.timer import Timer

from sssd_chat.errors import UserError
from sssd_chat.text import for_display

if TYPE_CHECKING:
    from sssd_chat.conversation.chat_library import Deletion

UNDO_SECONDS = 10


@dataclass(slots=True)
class _Waiting:
    deletion: Deletion
    title: str
    seconds_left: int
    timer: Timer | None = None


class Deletions:
    """Deletes for real once the time to undo is over. Outlives the list that it was asked from."""

    def __init__(self, app: App[None]) -> None:
        self._app = app
        self._waiting: list[_Waiting] = []
        self._on_change: Callable[[], None] = lambda: None

    def watch(self, on_change: Callable[[], None]) -> None:
        """Calls `on_change` from now on when what can be undone changes, and each second."""
        self._on_change = on_change

    @property
    def last(self) -> tuple[str, int] | None:
        """The title that `undo` brings back, and the seconds left for it."""
        return (self._waiting[-1].title, self._waiting[-1].seconds_left) if self._waiting else None

    def add(self, deletion: Deletion, title: str) -> None:
        """Begins the time to undo."""
        waiting = _Waiting(deletion, title, UNDO_SECONDS)
        waiting.timer = self._app.set_interval(1, lambda: self._tick(waiting))
        self._waiting.append(waiting)
        self._on_change()

    def undo(self) -> tuple[int, ...]:
        """Brings the last ones back, and returns their numbers; none when there are none."""
        if not self._waiting:
            return ()
        last = self._take(self._waiting[-1])
        last.deletion.undo()
        self._on_change()
        return last.deletion.chats

    def _tick(self, waiting: _Waiting) -> None:
        waiting.seconds_left -= 1
        if waiting.seconds_left <= 0 and waiting in self._waiting:
            self._take(waiting)
            self._app.run_worker(
                lambda: self._commit(waiting), thread=True, exit_on_error=False, group="deletions"
            )
        self._on_change()

    def _take(self, waiting: _Waiting) -> _Waiting:
        if waiting.timer is not None:
            waiting.timer.stop()
        self._waiting.remove(waiting)
        return waiting

    def _commit(self, waiting: _Waiting) -> None:
        try:
            waiting.deletion.commit()
        except UserError as error:
            message = f"{waiting.title} is not deleted everywhere yet: {error}"
            self._app.notify(for_display(message), severity="error", markup=False, timeout=15)
