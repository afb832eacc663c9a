"""Counting the tokens of what is typed, without holding up anything.

llama.cpp's tokenizer only reads the vocabulary, so it may run beside the engine; it runs in a
thread of its own and lets go of the interpreter meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from sssd_chat.conversation.events import Event, TokensCounted

if TYPE_CHECKING:
    from sssd_chat.conversation.indexing import Tokenizes


class Counting:
    """Any thread may ask; the newest text alone is counted."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._before = 0
        """Tokens of the context before the text."""
        self._counted: int | None = None
        """Tokens of the text that was counted last."""
        self._emit = emit
        self._vocabulary: Tokenizes | None = None
        self._in_use = threading.Lock()
        """Held while the vocabulary is used, and while it changes."""
        self._text: str | None = None
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="counting", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def use(self, vocabulary: Tokenizes | None) -> None:
        """The vocabulary to count by. None, and the one before is not used any more when this
        returns: its model may be freed."""
        with self._in_use:
            self._vocabulary = vocabulary
        with self._changed:
            self._changed.notify()

    def follow(self, before: int) -> None:
        """So many tokens of the context are before the text now; what was counted is told anew."""
        with self._in_use:
            changed, self._before = before != self._before, before
            counted = self._counted
        if changed and counted is not None:
            self._emit(TokensCounted(counted, before + counted))

    def count(self, text: str) -> None:
        """TokensCounted comes, once there is a vocabulary."""
        with self._changed:
            self._text = text
            self._changed.notify()

    def close(self) -> None:
        """Ends the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._is_due())
                if self._closed:
                    return
                text, self._text = self._text, None
            with self._in_use:
                if text is None or self._vocabulary is None:
                    # It was taken away a moment ago; whoever types asks again.
                    continue
                (tokens,) = self._vocabulary.tokenize_arrays([text])
                counted = self._counted = len(tokens)
                before = self._before
            self._emit(TokensCounted(counted, before + counted))

    def _is_due(self) -> bool:
        return self._text is not None and self._vocabulary is not None
