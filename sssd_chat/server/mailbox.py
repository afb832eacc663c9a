"""What the engine thread leaves for one client."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Sequence

from sssd_chat.conversation.completions.choice import Choice, Piece
from sssd_chat.generation.batching import Progress


class Mailbox:
    """Between the engine thread, which never waits, and a client, which may be slow.

    What a client has not taken yet is joined to one piece a choice, so however slow it is, it
    costs no more memory than the answers themselves. Made and emptied in the event loop.
    """

    def __init__(self, choices: Sequence[Choice]) -> None:
        self.choices = choices
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._guard = threading.Lock()
        self._pieces: dict[int, Piece] = {}
        self._unfinished = len(choices)

    def put(self, index: int, progress: Progress) -> None:
        """Takes in what was written of a choice. For the engine thread; never waits, never
        fails."""
        with self._guard:
            piece = self.choices[index].add(progress)
            if progress.is_last:
                self._unfinished -= 1
            elif piece.is_empty:
                return
            is_told = bool(self._pieces)
            self._pieces[index] = self._pieces.get(index, Piece()) + piece
        if is_told:
            return
        # The loop is closed when the server ended without its clients.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._news.set)

    async def take(self) -> dict[int, Piece] | None:
        """What came of each choice since the last call, at least something; None when all choices
        are finished and all of them was taken."""
        while True:
            with self._guard:
                pieces, self._pieces = self._pieces, {}
                self._news.clear()
                is_over = not self._unfinished
            if pieces:
                return pieces
            if is_over:
                return None
            await self._news.wait()

    async def wait(self) -> None:
        """Waits until all choices are finished; what came of them is in `choices`."""
        while await self.take() is not None:
            pass
