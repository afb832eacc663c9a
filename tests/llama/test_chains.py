"""Chains of drafts in models with a recurrent state, in the real llama.cpp."""

from __future__ import annotations

import random

import numpy as np
import pytest

from sssd_chat.drafting import ROOT, DraftTree
from sssd_chat.llama.shape import DraftShape
from tests.conftest import LoadTiny
from tests.llama.decoding import ROUNDING, check_rounding, distances, plain_run, walk
from tests.tiny_models import CHAIN_ARCHITECTURES, Architecture
from tests.trees import random_chain


@pytest.mark.parametrize("architecture", CHAIN_ARCHITECTURES)
def test_random_chains_give_what_plain_decoding_gives(
    load_tiny: LoadTiny, architecture: Architecture
) -> None:
    """Step after step the state goes on as if the accepted tokens had been decoded one by one."""
    loaded = load_tiny(architecture, 512)
    target = loaded.target
    assert target.shape is DraftShape.CHAINS
    most, vocabulary = target.max_draft, loaded.model.vocabulary.size
    sequence = target.open_sequence()
    rng = random.Random(7)
    chains = 0
    differences: list[float] = []
    while chains < 250:
        prompt = [rng.randrange(3, vocabulary) for _ in range(rng.randrange(1, 40))]
        truth, expected = plain_run(target, sequence, prompt, 400)
        target.rewind(sequence, 0)
        target.prefill(sequence, prompt)
        done = 1
        while done < 380:
            size = rng.randrange(most + 1)
            tree = random_chain(rng, size, vocabulary, truth[done : done + 20])
            padding = rng.randrange(most - size + 1) if rng.random() < 0.4 else 0
            target.verify([(sequence, truth[done - 1], tree)], padding)
            path = walk(tree, truth[done : done + 20])
            differences += distances(target, sequence, path, expected[done:])
            # A stop may keep less than was accepted.
            path = path[: rng.randrange(len(path) + 1)] if rng.random() < 0.2 else path
            target.commit(sequence, path)
            done += 1 + len(path)
            assert sequence.tokens == prompt + truth[: done - 1]
            chains += 1
    check_rounding(differences, architecture)


@pytest.mark.parametrize("architecture", CHAIN_ARCHITECTURES)
def test_chains_of_several_texts_in_one_batch(
    load_tiny: LoadTiny, architecture: Architecture
) -> None:
    """Of different lengths, accepted differently, with texts that sit a step out, and one that is
    read meanwhile."""
    loaded = load_tiny(architecture, 512, sequences=4)
    target = loaded.target
    most, vocabulary = target.max_draft, loaded.model.vocabulary.size
    rng = random.Random(11)
    read, reading = [rng.randrange(3, vocabulary) for _ in range(120)], target.open_sequence()
    read_logits: list[np.ndarray] = []
    sequences = [target.open_sequence() for _ in range(3)]
    prompts = [[rng.randrange(3, vocabulary) for _ in range(n)] for n in (3, 17, 40)]
    alone = [plain_run(target, sequences[0], prompt, 160) for prompt in prompts]
    target.rewind(sequences[0], 0)
    for sequence, prompt in zip(sequences, prompts, strict=True):
        target.prefill(sequence, prompt)
    done = [1, 1, 1]
    differences: list[float] = []
    while min(done) < 140:
        live = [n for n in range(3) if done[n] < 140 and rng.random() < 0.8]
        if not live:
            continue
        rng.shuffle(live)
        trees = {
            n: random_chain(rng, rng.randrange(most + 1), vocabulary, alone[n][0][done[n] :][:12])
            for n in live
        }
        start = len(reading.tokens)
        part = read[start : start + rng.randrange(1, 20)]
        ends = start + len(part) == len(read)
        items = [(sequences[n], alone[n][0][done[n] - 1], trees[n]) for n in live]
        target.verify(items, reads=[(reading, part, ends)] if part else [])
        if ends and part:
            read_logits.append(target.logits(reading).copy())
        paths = {n: walk(trees[n], alone[n][0][done[n] :][:12]) for n in live}
        for n in live:
            differences += distances(target, sequences[n], paths[n], alone[n][1][done[n] :])
        for n in live:
            target.commit(sequences[n], paths[n])
            done[n] += 1 + len(paths[n])
    target.prefill(reading, read[:50])
    target.prefill(reading, read)
    differences += distances(target, reading, [], read_logits)
    assert len(read_logits) == 1
    check_rounding(differences, architecture)


@pytest.mark.parametrize("architecture", CHAIN_ARCHITECTURES)
def test_a_text_goes_back_only_into_what_was_decoded_last(
    load_tiny: LoadTiny, architecture: Architecture
) -> None:
    """And only once: whatever it says it kept is what the logits after it come from."""
    loaded = load_tiny(architecture, 512)
    target = loaded.target
    most, vocabulary = target.max_draft, loaded.model.vocabulary.size
    sequence = target.open_sequence()
    rng = random.Random(5)
    went_back = 0
    differences: list[float] = []
    for _ in range(60):
        prompt = [rng.randrange(3, vocabulary) for _ in range(rng.randrange(1, 30))]
        target.rewind(sequence, 0)
        target.prefill(sequence, prompt)
        for _ in range(rng.randrange(3)):
            tree = random_chain(rng, rng.randrange(most + 1), vocabulary)
            target.verify([(sequence, rng.randrange(3, vocabulary), tree)])
            target.commit(sequence, list(range(rng.choice([0, len(tree)]))))
        for _ in range(2):
            before = list(sequence.tokens)
            length = max(0, len(before) - rng.randrange(most + 3))
            kept = target.rewind(sequence, length)
            assert kept in (0, length)
            assert sequence.tokens == before[:kept]
            went_back += 0 < kept < len(before)
        text = [*sequence.tokens, 9, 8, 7]
        target.prefill(sequence, text)
        seen = target.logits(sequence).copy()
        target.rewind(sequence, 0)
        target.prefill(sequence, text)
        differences += distances(target, sequence, [], [seen])
    assert went_back > 10
    check_rounding(differences, architecture)


@pytest.mark.parametrize("architecture", CHAIN_ARCHITECTURES)
def test_a_state_saved_after_refused_tokens_knows_nothing_of_them(
    load_tiny: LoadTiny, architecture: Architecture
) -> None:
    target = load_tiny(architecture, 512, sequences=2).target
    sequence, other = target.open_sequence(), target.open_sequence()
    target.prefill(sequence, [5 + n for n in range(40)])
    target.verify([(sequence, 9, random_chain(random.Random(1), target.max_draft, 300))])
    target.commit(sequence, [0])
    assert target.load_state(other, sequence.tokens, bytes(target.save_state(sequence)))
    seen = []
    for one in (sequence, other):
        target.verify([(one, 77, DraftTree())])
        seen.append(target.logits(one).copy())
    assert np.abs(seen[0] - seen[1]).max() < ROUNDING


@pytest.mark.parametrize("architecture", CHAIN_ARCHITECTURES)
def test_what_cannot_be_taken_back_is_refused(
    load_tiny: LoadTiny, architecture: Architecture
) -> None:
    target = load_tiny(architecture).target
    sequence = target.open_sequence()
    target.prefill(sequence, [5, 6, 7])
    most = target.max_draft
    longest = random_chain(random.Random(0), most, 300)
    with pytest.raises(ValueError, match=f"at most {most}"):
        target.verify([(sequence, 9, longest)], padding=1)
    with pytest.raises(ValueError, match="chains alone"):
        target.verify([(sequence, 9, DraftTree([5, 6], [ROOT, ROOT], [0.5, 0.4], ["x", "x"]))])
    target.verify([(sequence, 9, longest)])
    target.commit(sequence, [])
