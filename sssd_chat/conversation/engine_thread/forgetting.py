"""Deleted turns leave everything that was made from them, while the chat goes on."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
from collections.abc import Callable, Sequence

from sssd_chat import paths
from sssd_chat.conversation.events import Event, Notice
from sssd_chat.conversation.state_cache import StateCache
from sssd_chat.errors import UserError

log = logging.getLogger(__name__)


class Forgetting:
    """A thread that forgets: other programs may have to step back for it, which takes a while."""

    def __init__(self, emit: Callable[[Event], None], on_forgotten: Callable[[], None]) -> None:
        """`on_forgotten` is called in the thread when something was forgotten."""
        self._emit = emit
        self._on_forgotten = on_forgotten
        self._work: queue.SimpleQueue[tuple[int, Sequence[int]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def forget(self, chat: int, turns: Sequence[int]) -> None:
        """Forgets turns that the history does not hold any more; returns at once. The kept state of
        the chat is gone by then: it must not be taken for the chat as it is."""
        with contextlib.suppress(OSError):
            # What cannot be taken away now is tried again, and told.
            StateCache(paths.state_cache_folder(), 0).forget(chat)
        self._work.put((chat, turns))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="forgetting", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Waits until all of it is forgotten. The datastore of this program must be closed by
        now, or looked after."""
        if self._thread is not None:
            self._work.put(None)
            self._thread.join()

    def _run(self) -> None:
        from sssd_chat.conversation.forgetting import forget_learned_turns

        while (work := self._work.get()) is not None:
            try:
                forget_learned_turns(*work)
            except UserError as error:
                self._emit(Notice(f"Not all is forgotten yet: {error}", "warning"))
            except Exception:
                log.exception("forgetting failed")
                self._emit(Notice("Not all is forgotten yet; the log has the details.", "warning"))
            self._on_forgotten()
