"""The beginning of one text given to another one: the same logits as reading it, and no more."""

from __future__ import annotations

import random

import numpy as np
import pytest

from sssd_chat.drafting import DraftTree
from sssd_chat.llama.sequence import TargetSequence
from sssd_chat.llama.target import Target
from tests.conftest import LoadTiny
from tests.llama.decoding import ROUNDING, check_rounding
from tests.tiny_models import CHAIN_ARCHITECTURES, TREE_ARCHITECTURES, Architecture
from tests.trees import random_chain, random_tree


def read(target: Target, sequence: TargetSequence, tokens: list[int]) -> np.ndarray:
    """Reads a text behind what is there; the logits of its end."""
    target.verify([], reads=[(sequence, tokens[len(sequence.tokens) :], True)])
    assert sequence.tokens == tokens
    return target.logits(sequence).copy()


def fresh(target: Target, tokens: list[int]) -> np.ndarray:
    """The logits of a text that was read from its start."""
    sequence = target.open_sequence()
    logits = read(target, sequence, tokens)
    target.close_sequence(sequence)
    return logits


def use(target: Target, sequence: TargetSequence, rng: random.Random, streamed: bool) -> None:
    """Goes on with a text by drafts of any shape, of which some part is accepted."""
    for _ in range(rng.randrange(4)):
        draw = random_chain if streamed else random_tree
        tree = draw(rng, rng.choice([0, 3, 9]), 300, [], 0.0)
        target.verify([(sequence, rng.randrange(3, 300), tree)])
        target.commit(sequence, [0] if len(tree) and rng.random() < 0.5 else [])


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("architecture", TREE_ARCHITECTURES)
def test_a_shared_beginning_is_what_it_is_when_it_is_read(
    load_tiny: LoadTiny, architecture: Architecture, streamed: bool
) -> None:
    """Whatever becomes of the other text afterwards, and whatever was drafted in either."""
    loaded = load_tiny(architecture, 200, sequences=4, is_streamed=streamed)
    target = loaded.target
    rng = random.Random(11)
    differences: list[float] = []
    shared = 0
    for _ in range(25):
        source, other = target.open_sequence(), target.open_sequence()
        text = [rng.randrange(3, 300) for _ in range(rng.randrange(2, 120))]
        read(target, source, text)
        use(target, source, rng, streamed)
        length = rng.randrange(1, len(source.tokens) + 1)
        beginning = source.tokens[:length]
        if rng.random() < 0.5:
            read(target, other, beginning[: rng.randrange(1, length + 1)])
        got = target.share(source, other, length)
        assert other.tokens == source.tokens[: len(other.tokens)] and got == len(other.tokens)
        shared += got == length
        # The other text goes its own way, is shortened, or leaves.
        fate = rng.randrange(3)
        if fate == 0:
            target.close_sequence(source)
        elif fate == 1:
            target.rewind(source, rng.randrange(length))
        use(target, other, rng, streamed)
        whole = [*other.tokens, *(rng.randrange(3, 300) for _ in range(rng.randrange(1, 30)))]
        expected = fresh(target, whole)
        differences.append(float(np.abs(read(target, other, whole) - expected).max()))
        if fate:
            longer = [*source.tokens, rng.randrange(3, 300)]
            expected = fresh(target, longer)
            differences.append(float(np.abs(read(target, source, longer) - expected).max()))
            target.close_sequence(source)
        target.close_sequence(other)
    assert shared > 20
    check_rounding(differences, architecture)


@pytest.mark.parametrize("streamed", [False, True])
def test_cells_come_back_when_the_last_text_that_shares_them_leaves(
    load_tiny: LoadTiny, streamed: bool
) -> None:
    loaded = load_tiny(Architecture.LLAMA, 100, sequences=3, is_streamed=streamed)
    target = loaded.target
    text = [5 + n % 50 for n in range(90)]
    for _ in range(10):
        opened = [target.open_sequence() for _ in range(3)]
        read(target, opened[0], text)
        for other in opened[1:]:
            assert target.share(opened[0], other, 85) == 85
        for other in opened:
            target.close_sequence(other)
    # All cells are there for three other texts.
    opened = [target.open_sequence() for _ in range(3)]
    for number, other in enumerate(opened):
        other_text = [60 + number + n % 30 for n in range(100)]
        assert np.abs(read(target, other, other_text)).max() > ROUNDING


def test_only_the_beginning_of_another_text_can_be_shared(load_tiny: LoadTiny) -> None:
    target = load_tiny(Architecture.LLAMA, 100, sequences=2).target
    source, other = target.open_sequence(), target.open_sequence()
    read(target, source, [5, 6, 7])
    read(target, other, [5, 8])
    with pytest.raises(ValueError, match="beginning"):
        target.share(source, other, 3)
    with pytest.raises(ValueError, match="beginning"):
        target.share(source, source, 3)
    target.rewind(other, 0)
    assert target.share(source, other, 50) == 3


@pytest.mark.parametrize("architecture", CHAIN_ARCHITECTURES)
def test_a_recurrent_state_is_not_shared(load_tiny: LoadTiny, architecture: Architecture) -> None:
    target = load_tiny(architecture, 100, sequences=2).target
    source, other = target.open_sequence(), target.open_sequence()
    read(target, source, [5, 6, 7])
    assert target.least_shared is None
    assert target.share(source, other, 3) == 0
    assert other.tokens == []
    target.verify([(other, 9, DraftTree())])
    target.commit(other, [])
    assert other.tokens == [9]
