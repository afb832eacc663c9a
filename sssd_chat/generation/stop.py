"""Text that ends an answer."""

from __future__ import annotations

from collections.abc import Sequence


class StopStrings:
    """Watches a text that grows piece by piece for the first stop string.

    What might be the beginning of one is held back until the next piece decides.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        """Empty strings in `stops` are ignored."""
        self._stops = [stop for stop in stops if stop]
        self._held = ""
        self.found: str | None = None
        """The stop string that appeared, None so far."""

    def feed(self, text: str) -> str:
        """The text that became final with this piece. Nothing comes after a stop string."""
        if self.found is not None or not text:
            return ""
        if not self._stops:
            return text
        pending = self._held + text
        places = [(place, stop) for stop in self._stops if (place := pending.find(stop)) >= 0]
        if places:
            place, self.found = min(places, key=lambda item: (item[0], -len(item[1])))
            self._held = ""
            return pending[:place]
        keep = self._possible_beginning(pending)
        self._held = pending[len(pending) - keep :]
        return pending[: len(pending) - keep]

    def _possible_beginning(self, text: str) -> int:
        """Length of the longest end of `text` with which a stop string begins."""
        longest = max(len(stop) for stop in self._stops) - 1
        for length in range(min(longest, len(text)), 0, -1):
            tail = text[len(text) - length :]
            if any(stop.startswith(tail) for stop in self._stops):
                return length
        return 0

    def finish(self) -> str:
        """What was held back, when the answer ends for another reason."""
        held, self._held = self._held, ""
        return held
