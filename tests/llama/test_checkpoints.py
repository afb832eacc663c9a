"""Texts of recurrent models that go back to the checkpoint near the end of their prompt."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.conftest import LoadTiny
from tests.llama.decoding import ROUNDING, Reports, check_rounding, distances
from tests.tiny_models import RECURRENT_ARCHITECTURES, Architecture
from tests.trees import random_chain


@pytest.mark.parametrize("architecture", RECURRENT_ARCHITECTURES)
def test_a_prompt_whose_end_changes_is_not_read_from_its_beginning(
    load_tiny: LoadTiny, architecture: Architecture
) -> None:
    """However many tokens were written after it, and as often as it changes."""
    loaded = load_tiny(architecture, 2048, sequences=2)
    target = loaded.target
    vocabulary = loaded.model.vocabulary.size
    rng = random.Random(9)
    sequence, other = target.open_sequence(), target.open_sequence()
    chunk = 128
    differences: list[float] = []
    prompt: list[int] = []
    for turn in range(8):
        grown = prompt + [rng.randrange(3, vocabulary) for _ in range(rng.randrange(20, 200))]
        target.prefill(sequence, grown)
        for _ in range(rng.randrange(8)):
            tree = random_chain(rng, rng.randrange(target.max_draft + 1), vocabulary)
            target.verify([(sequence, rng.randrange(3, vocabulary), tree)])
            target.commit(sequence, list(range(rng.choice([0, len(tree)]))))
        # As if thinking was left out, and the last tokens of the prompt with it.
        prompt = grown[: -rng.randrange(1, 16)]
        text = [*prompt, *(rng.randrange(3, vocabulary) for _ in range(30))]
        reports = Reports()
        target.prefill(sequence, text, reports)
        assert sequence.tokens == text
        if turn and len(grown) > chunk:
            assert len(grown) - chunk - 16 <= reports.seen[0]
        assert reports.seen[0] <= len(prompt)
        seen = target.logits(sequence).copy()
        target.rewind(other, 0)
        target.prefill(other, text)
        differences += distances(target, other, [], [seen])
    check_rounding(differences, architecture)


@pytest.mark.parametrize("architecture", RECURRENT_ARCHITECTURES)
def test_the_same_prompt_again_is_hardly_read(
    load_tiny: LoadTiny, architecture: Architecture
) -> None:
    target = load_tiny(architecture, 1024).target
    sequence = target.open_sequence()
    prompt = [5 + n % 200 for n in range(500)]
    target.prefill(sequence, prompt)
    first = target.logits(sequence).copy()
    for _ in range(3):
        reports = Reports()
        target.prefill(sequence, prompt, reports)
        assert reports.seen[0] >= 500 - 128
        assert np.abs(target.logits(sequence) - first).max() < ROUNDING


@pytest.mark.parametrize("architecture", RECURRENT_ARCHITECTURES)
def test_another_text_takes_nothing_from_the_checkpoint(
    load_tiny: LoadTiny, architecture: Architecture
) -> None:
    target = load_tiny(architecture, 1024).target
    sequence = target.open_sequence()
    target.prefill(sequence, [5 + n % 200 for n in range(500)])
    reports = Reports()
    target.prefill(sequence, [6 + n % 190 for n in range(400)], reports)
    assert reports.seen[0] == 0
    target.close_sequence(sequence)
    assert target.open_sequence().checkpoint is None
