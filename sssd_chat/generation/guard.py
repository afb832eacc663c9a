"""The switch that turns drafting off when it costs more than it saves.

The size of each draft is chosen by expected gain, and expectations can be wrong. So what drafts
really gave is counted too, and when they lost time lately, they rest for a while and are tried
again; the rest doubles as long as they go on losing.
"""

from __future__ import annotations

from dataclasses import dataclass

_DECAY = 1.0 - 1.0 / 24.0
"""Weight of the past, a drafted step: about the last two dozen count."""
_ENOUGH_STEPS = 8
_FIRST_REST = 16
_LONGEST_REST = 512
_QUIET_STEPS = 16
"""After so many steps in a row without a draft, drafting is shown as off."""


@dataclass(slots=True)
class DraftGuard:
    """Decides whether the next step may draft."""

    _saved: float = 0.0
    _spent: float = 0.0
    _drafted_steps: int = 0
    _resting: int = 0
    _rest: int = _FIRST_REST
    _without_draft: int = 0

    @property
    def allows(self) -> bool:
        """Whether the next step may draft."""
        return self._resting == 0

    @property
    def is_quiet(self) -> bool:
        """Whether no draft has been worth its cost for a while."""
        return self._without_draft >= _QUIET_STEPS

    def observe(self, draft_size: int, emitted: int, seconds: float, plain: float | None) -> None:
        """Learns from a step that took `seconds` and emitted `emitted` tokens, where a plain step
        takes `plain` seconds."""
        if draft_size == 0:
            self._without_draft += 1
            self._resting = max(0, self._resting - 1)
            return
        self._without_draft = 0
        if plain is None:
            return
        self._saved = _DECAY * self._saved + emitted * plain
        self._spent = _DECAY * self._spent + seconds
        self._drafted_steps += 1
        if self._drafted_steps < _ENOUGH_STEPS:
            return
        if self._saved < self._spent:
            self._resting = self._rest
            self._rest = min(_LONGEST_REST, 2 * self._rest)
            self._saved = self._spent = 0.0
            self._drafted_steps = 0
        elif self._saved > 1.1 * self._spent:
            self._rest = _FIRST_REST
