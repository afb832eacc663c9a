"""The check that drafts change nothing: it must pass where they do not, and fail where they do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sssd_chat.drafting import ReferenceDrafter
from sssd_chat.generation.comparison import Comparison, compare
from sssd_chat.generation.engine import Engine, GenerationSettings
from sssd_chat.llama.sampler import Logits, SamplerSettings
from tests.conftest import LoadTiny
from tests.generation.toy import RandomDrafter, ToyState, ToyTarget, ToyVocabulary, greedy_oracle
from tests.tiny_models import DRAFTED_ARCHITECTURES, Architecture

GREEDY = GenerationSettings(max_tokens=80)
SAMPLED = replace(GREEDY, sampler=SamplerSettings(temperature=1.0, seed=3))


class Faulty(ToyTarget):
    """Gives the logits after a drafted node an error of `error`."""

    def __init__(self, error: float) -> None:
        super().__init__(12)
        self.error = error
        self.random = np.random.default_rng(1)

    def logits(self, sequence: ToyState, node: int = -1) -> Logits:
        logits = super().logits(sequence, node)
        if node >= 0:
            logits = logits + self.random.normal(0, self.error, len(logits)).astype(np.float32)
        return logits


def run(target: ToyTarget, settings: GenerationSettings) -> Comparison:
    engine = Engine(target, ToyVocabulary(12))  # type: ignore[arg-type]
    result = compare(
        engine, [1, 2, 3], settings, lambda: RandomDrafter(1, 12, greedy_oracle(target))
    )
    assert result is not None
    return result


@pytest.mark.parametrize("settings", [GREEDY, SAMPLED])
def test_an_honest_target_is_found_identical(settings: GenerationSettings) -> None:
    result = run(ToyTarget(12), settings)
    assert result.is_identical and result.is_explained
    assert result.steps < len(result.drafted) == len(result.plain) == 80


def test_a_wrong_cache_is_found_out() -> None:
    result = run(Faulty(3.0), GREEDY)
    assert not result.is_identical
    assert not result.is_explained
    assert result.rounding > result.tolerance
    place = result.first_difference
    assert place is not None
    assert result.drafted[:place] == result.plain[:place]
    assert result.drafted[place] != result.plain[place]


def test_a_near_tie_is_told_from_a_fault() -> None:
    """Rounding of a hundredth decides only where two logits are as near as that."""
    target = Faulty(0.01)
    table = target.table
    # Every token's two best followers tie.
    best = table.argmax(axis=2)
    for a in range(12):
        for b in range(12):
            table[a, b, (best[a, b] + 1) % 12] = table[a, b, best[a, b]] - 0.001
    result = run(target, GREEDY)
    assert not result.is_identical
    assert result.is_explained
    assert result.logit_gap < 0.05


def test_stopping_gives_no_result() -> None:
    target = ToyTarget(12)
    engine = Engine(target, ToyVocabulary(12))  # type: ignore[arg-type]
    drafter = RandomDrafter(1, 12, greedy_oracle(target))
    seen: list[tuple[str, int]] = []
    result = compare(
        engine,
        [1],
        GREEDY,
        lambda: drafter,
        lambda *state: len(seen) < 5 and not seen.append(state),  # type: ignore[func-returns-value]
    )
    assert result is None


@pytest.mark.parametrize("architecture", DRAFTED_ARCHITECTURES)
@pytest.mark.parametrize("settings", [GREEDY, SAMPLED])
def test_the_real_engine_is_lossless(
    load_tiny: LoadTiny, architecture: Architecture, settings: GenerationSettings
) -> None:
    loaded = load_tiny(architecture, 512)
    vocabulary = loaded.model.vocabulary
    # A text that repeats itself, so that there is something to draft.
    prompt = vocabulary.tokenize("the cat and the dog and the cat and the dog " * 6)
    for length in (60, 150, len(prompt)):
        result = compare(loaded.engine, prompt[:length], settings, ReferenceDrafter)
        assert result is not None
        assert result.is_explained, result
