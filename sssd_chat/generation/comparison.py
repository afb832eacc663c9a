"""Does drafting change the answer? The same prompt with and without, token by token.

Batched kernels round differently, so at a near-tie two honest runs may part. Both runs therefore
keep the best logits of every position. Up to the first different token their texts, and so their
true logits, are the same: what differs there is rounding, and the first difference is explained by
rounding when it is no larger than rounding is elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sssd_chat.drafting import Drafter, PlainDrafter
from sssd_chat.generation.answer import Answer
from sssd_chat.generation.engine import Engine, GenerationSettings
from sssd_chat.generation.looks import TokenSampler, WatchedSampler
from sssd_chat.generation.target import State
from sssd_chat.llama.sampler import Logits, best_tokens

_KEPT = 64
"""Best tokens whose logits are kept at each position."""
_LEAST_TOLERANCE = 0.05
_MOST_TOLERANCE = 1.0
_NOISE_FACTOR = 3.0


@dataclass(frozen=True, slots=True)
class _Position:
    tokens: np.ndarray
    logits: np.ndarray


class Positions:
    """The best logits at every position of an answer while it is written."""

    def __init__(self) -> None:
        self._seen: list[_Position] = []

    def watch(self, sampler: TokenSampler) -> WatchedSampler:
        """A sampler to write the answer with, in the place of its own."""
        return WatchedSampler(sampler, self._add)

    def _add(self, logits: Logits) -> None:
        tokens = np.array(best_tokens(logits, _KEPT))
        self._seen.append(_Position(tokens, logits[tokens].copy()))

    def __len__(self) -> int:
        """Positions seen so far."""
        return len(self._seen)

    def __getitem__(self, place: int) -> _Position:
        """What was seen at a place."""
        return self._seen[place]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs of one prompt."""

    drafted: list[int]
    """Tokens with drafts."""
    plain: list[int]
    """Tokens without."""
    steps: int
    """Passes of the model with drafts; without, one a token."""
    first_difference: int | None
    """Position of the first token that differs; None when none does."""
    logit_gap: float = 0.0
    """How far the logits of the two tokens are apart in the plain run at that position."""
    rounding: float = 0.0
    """Largest difference of the two runs' logits at that position."""
    tolerance: float = 0.0
    """Largest rounding that is still believed, from the positions before."""

    @property
    def is_identical(self) -> bool:
        """Whether both runs gave the same tokens."""
        return self.first_difference is None

    @property
    def is_explained(self) -> bool:
        """Whether both runs are the same but for rounding."""
        return self.is_identical or self.rounding <= self.tolerance


def compare(
    engine: Engine[State],
    prompt: Sequence[int],
    settings: GenerationSettings,
    make_drafter: Callable[[], Drafter],
    on_token: Callable[[str, int], bool] | None = None,
) -> Comparison | None:
    """Runs the prompt twice. A sampled run needs a seed in its settings.

    `on_token` is told ("drafted" or "plain", tokens so far) after each step and may return False
    to stop; then the result is None.
    """
    runs = []
    for name, drafter, drafting in (
        ("drafted", make_drafter(), True),
        ("plain", PlainDrafter(), False),
    ):
        run = _run(engine, prompt, replace(settings, drafting=drafting), drafter, name, on_token)
        if run is None:
            return None
        runs.append(run)
    return compared(*runs[0], *runs[1])


def compared(drafted: Answer, left: Positions, plain: Answer, right: Positions) -> Comparison:
    """Two answers to one prompt that were watched, one written with drafts or beside others, the
    other one without and alone."""
    place = _first_difference(drafted.tokens, plain.tokens)
    if place is None:
        return Comparison(drafted.tokens, plain.tokens, drafted.statistics.steps, None)
    noise = max((_rounding(left[n], right[n]) for n in range(place)), default=0.0)
    here = place if place < min(len(left), len(right)) else place - 1
    return Comparison(
        drafted.tokens,
        plain.tokens,
        drafted.statistics.steps,
        place,
        _gap(right[here], drafted.tokens, plain.tokens, place),
        _rounding(left[here], right[here]),
        min(max(_LEAST_TOLERANCE, _NOISE_FACTOR * noise), _MOST_TOLERANCE),
    )


def _run(
    engine: Engine[State],
    prompt: Sequence[int],
    settings: GenerationSettings,
    drafter: Drafter,
    name: str,
    on_token: Callable[[str, int], bool] | None,
) -> tuple[Answer, Positions] | None:
    conversation = engine.open(drafter)
    try:
        generation = engine.begin(conversation, prompt, settings)
        positions = Positions()
        generation.sampler = positions.watch(generation.sampler)
        while not generation.is_finished:
            engine.step([generation])
            if on_token is not None and not on_token(name, len(generation.tokens)):
                engine.cancel(generation)
                return None
        return generation, positions
    finally:
        engine.close(conversation)


def _first_difference(left: Sequence[int], right: Sequence[int]) -> int | None:
    for place, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return place
    return None if len(left) == len(right) else min(len(left), len(right))


def _rounding(left: _Position, right: _Position) -> float:
    """Largest difference of logits over the tokens that both runs had among their best."""
    _, a, b = np.intersect1d(left.tokens, right.tokens, return_indices=True)
    if not len(a):
        return float("inf")
    return float(np.abs(left.logits[a] - right.logits[b]).max())


def _gap(position: _Position, left: Sequence[int], right: Sequence[int], place: int) -> float:
    """Distance of two tokens' logits; a token not among the best counts as the last of them."""
    if place >= min(len(left), len(right)):
        return 0.0

    def logit(token: int) -> float:
        found = np.flatnonzero(position.tokens == token)
        return float(position.logits[found[0]] if len(found) else position.logits.min())

    return abs(logit(right[place]) - logit(left[place]))
