"""The switch that turns drafting off when it costs more than it saves.

The size of each draft is chosen by expected gain, and expectations can be wrong; and looking for
candidates takes time even when nothing is worth sending. So what drafts really saved and what
looking really cost are both counted. When it lost time lately it rests for a while and is then
tried again; the rest doubles as long as it goes on losing. Each answer starts awake, since another
question may be another matter.
"""

from __future__ import annotations

from dataclasses import dataclass

_DECAY = 1.0 - 1.0 / 48.0
"""Weight of the past, a step."""
_LATELY = 0.3
"""Weight of the last look in what looks paid lately."""
_ENOUGH_STEPS = 16
_PLAIN_LOSS = 4.0
"""Plain steps; a loss of so many is not waited out."""
_FIRST_REST = 16
_LONGEST_REST = 256
_QUIET_STEPS = 16
"""After so many steps in a row without a draft, drafting is shown as off."""


@dataclass(slots=True)
class DraftGuard:
    """Decides whether the next step may draft."""

    _saved: float = 0.0
    _spent: float = 0.0
    _awake_steps: int = 0
    _resting: int = 0
    _rest: int = _FIRST_REST
    _without_draft: int = 0
    _lately: float = 0.0
    """Seconds that a look saved lately."""
    _is_passed_over: bool = False
    waited: int = 0
    """Steps since the last look, those of a rest left out."""

    @property
    def allows(self) -> bool:
        """Whether the next step may draft."""
        return self._resting == 0 and not self._is_passed_over

    @property
    def pays(self) -> bool:
        """Whether the last looks saved more than they took, so that the next one is likely to."""
        return self._lately > 0.0

    def pass_over(self) -> None:
        """The next step goes without a look, for the sake of other sequences."""
        self._is_passed_over = True

    @property
    def is_quiet(self) -> bool:
        """Whether no draft has been worth its cost for a while."""
        return self._without_draft >= _QUIET_STEPS

    def wake(self) -> None:
        """Ends a rest: a new answer begins."""
        self._resting = 0
        self._saved = self._spent = 0.0
        self._awake_steps = 0
        self._lately = 0.0
        self._is_passed_over = False

    def observe(
        self,
        draft_size: int,
        emitted: int,
        decode_seconds: float,
        overhead_seconds: float,
        plain_seconds: float | None,
    ) -> None:
        """Learns from a step that emitted `emitted` tokens in `decode_seconds`, after drafting and
        learning for `overhead_seconds`, where a plain step takes `plain_seconds` (None while
        unknown)."""
        self._without_draft = 0 if draft_size else self._without_draft + 1
        if self._is_passed_over:
            self._is_passed_over = False
            self.waited += 1
            return
        self.waited = 0
        if self._resting:
            self._resting -= 1
            return
        if plain_seconds is None:
            return
        # A step without a draft saved nothing; that it was fast or slow is noise.
        saved = emitted * plain_seconds - decode_seconds if draft_size else 0.0
        self._saved = _DECAY * self._saved + saved
        self._spent = _DECAY * self._spent + overhead_seconds
        self._lately += _LATELY * (saved - overhead_seconds - self._lately)
        self._awake_steps += 1
        lost = self._spent - self._saved
        if self._awake_steps < _ENOUGH_STEPS and lost < _PLAIN_LOSS * plain_seconds:
            return
        if lost > 0:
            self._resting = self._rest
            self._rest = min(_LONGEST_REST, 2 * self._rest)
            self._saved = self._spent = 0.0
            self._awake_steps = 0
        elif self._saved > 2.0 * self._spent:
            self._rest = _FIRST_REST
