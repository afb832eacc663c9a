"""An answer in its two parts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parts:
    """A text, divided."""

    thinking: str = ""
    text: str = ""
    """The answer itself."""

    def __add__(self, other: Parts) -> Parts:
        return Parts(self.thinking + other.thinking, self.text + other.text)
