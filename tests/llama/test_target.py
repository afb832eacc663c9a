"""Trees in the real llama.cpp: what they give, and the cache that they leave behind."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from sssd_chat.drafting import ROOT, DraftTree
from sssd_chat.errors import UserError
from sssd_chat.llama.shape import DraftShape
from sssd_chat.llama.target import STREAMS_FROM, Target, TargetSettings
from tests.conftest import LoadTiny
from tests.llama.decoding import (
    FLIP,
    ROUNDING,
    Reports,
    check_rounding,
    distances,
    plain_run,
    walk,
)
from tests.tiny_models import (
    PLAIN_ARCHITECTURES,
    SLIDING_WINDOW,
    TREE_ARCHITECTURES,
    Architecture,
)
from tests.trees import random_tree


@pytest.mark.parametrize("architecture", TREE_ARCHITECTURES)
def test_thousands_of_random_trees_give_what_plain_decoding_gives(
    load_tiny: LoadTiny, architecture: Architecture
) -> None:
    """Step after step the cache goes on as if the accepted tokens had been decoded one by one."""
    loaded = load_tiny(architecture, 512)
    target = loaded.target
    vocabulary = loaded.model.vocabulary.size
    sequence = target.open_sequence()
    rng = random.Random(7)
    trees = 0
    differences: list[float] = []
    while trees < 700:
        prompt = [rng.randrange(3, vocabulary) for _ in range(rng.randrange(1, 40))]
        truth, expected = plain_run(target, sequence, prompt, 400)
        target.rewind(sequence, rng.choice([0, len(prompt) // 2]))
        target.prefill(sequence, prompt)
        done = 1
        while done < 380:
            size = rng.choice([0, 1, 2, 5, 12, 40])
            tree = random_tree(rng, size, vocabulary, truth[done : done + 20])
            target.verify([(sequence, truth[done - 1], tree)], padding=rng.choice([0, 0, 1, 5]))
            path = walk(tree, truth[done : done + 20])
            differences += distances(target, sequence, path, expected[done:])
            # A stop may keep less than was accepted.
            path = path[: rng.randrange(len(path) + 1)] if rng.random() < 0.2 else path
            target.commit(sequence, path)
            done += 1 + len(path)
            assert sequence.tokens == prompt + truth[: done - 1]
            trees += 1
    check_rounding(differences, architecture)


@pytest.mark.parametrize("architecture", TREE_ARCHITECTURES)
def test_every_node_sees_its_ancestors_and_nothing_else(
    load_tiny: LoadTiny, architecture: Architecture
) -> None:
    """Refused nodes too: their logits are those of their own path read as a plain prompt."""
    loaded = load_tiny(architecture, 256, sequences=2)
    target = loaded.target
    vocabulary = loaded.model.vocabulary.size
    rng = random.Random(3)
    first, second = target.open_sequence(), target.open_sequence()
    differences: list[float] = []
    for _ in range(12):
        prompt = [rng.randrange(3, vocabulary) for _ in range(rng.randrange(1, 30))]
        root = rng.randrange(3, vocabulary)
        tree = random_tree(rng, 10, vocabulary)
        target.prefill(first, prompt)
        target.verify([(first, root, tree)])
        seen = [target.logits(first, node).copy() for node in range(len(tree))]
        target.commit(first, [])
        for node in range(len(tree)):
            path = [tree.tokens[n] for n in tree.path(node)]
            target.rewind(second, 0)
            target.prefill(second, [*prompt, root, *path])
            differences += distances(target, second, [], [seen[node]])
    check_rounding(differences, architecture)


@pytest.mark.parametrize("architecture", TREE_ARCHITECTURES)
def test_sequences_in_one_batch_give_what_each_gives_alone(
    load_tiny: LoadTiny, architecture: Architecture
) -> None:
    loaded = load_tiny(architecture, 1024, sequences=3)
    target = loaded.target
    vocabulary = loaded.model.vocabulary.size
    rng = random.Random(11)
    sequences = [target.open_sequence() for _ in range(3)]
    prompts = [[rng.randrange(3, vocabulary) for _ in range(n)] for n in (3, 17, 40)]
    alone = []
    for prompt in prompts:
        alone.append(plain_run(target, sequences[0], prompt, 120))
    target.rewind(sequences[0], 0)
    for sequence, prompt in zip(sequences, prompts, strict=True):
        target.prefill(sequence, prompt)
    done = [1, 1, 1]
    differences: list[float] = []
    while min(done) < 90:
        live = [n for n in range(3) if done[n] < 90]
        trees = {
            n: random_tree(rng, rng.choice([0, 3, 8]), vocabulary, alone[n][0][done[n] :][:12])
            for n in live
        }
        target.verify([(sequences[n], alone[n][0][done[n] - 1], trees[n]) for n in live])
        paths = {n: walk(trees[n], alone[n][0][done[n] :][:12]) for n in live}
        for n in live:
            differences += distances(target, sequences[n], paths[n], alone[n][1][done[n] :])
        for n in live:
            target.commit(sequences[n], paths[n])
            done[n] += 1 + len(paths[n])
    check_rounding(differences, architecture)
    for sequence in sequences:
        target.close_sequence(sequence)
    assert target.open_sequence().tokens == []


@pytest.mark.parametrize("architecture", [*Architecture])
def test_a_prompt_is_read_again_only_where_it_differs(
    load_tiny: LoadTiny, architecture: Architecture
) -> None:
    loaded = load_tiny(architecture, 512)
    target = loaded.target
    vocabulary = loaded.model.vocabulary.size
    rng = random.Random(5)
    sequence = target.open_sequence()
    text = [rng.randrange(3, vocabulary) for _ in range(60)]
    differences: list[float] = []
    for _ in range(40):
        keep = rng.randrange(len(text) + 1)
        text = text[:keep] + [rng.randrange(3, vocabulary) for _ in range(rng.randrange(1, 60))]
        text = text[-450:]
        before = list(sequence.tokens)
        reports = Reports()
        target.prefill(sequence, text, reports)
        reused = target.logits(sequence).copy()
        assert sequence.tokens == text
        assert reports.seen[-1] == len(text)
        assert before[: reports.seen[0]] == text[: reports.seen[0]]
        if architecture.can_roll_back and architecture is not Architecture.GEMMA3:
            shared = next(
                (i for i, (a, b) in enumerate(zip(before, text, strict=False)) if a != b), None
            )
            longest = min(len(before), len(text)) if shared is None else shared
            assert reports.seen[0] == min(longest, len(text) - 1)
        target.rewind(sequence, 0)
        target.prefill(sequence, text)
        differences += distances(target, sequence, [], [reused])
    check_rounding(differences, architecture)


def test_a_text_longer_than_the_window_is_not_reused_where_the_window_lost_it(
    load_tiny: LoadTiny,
) -> None:
    """Sliding-window cells may have been overwritten; going back must then read again."""
    loaded = load_tiny(Architecture.GEMMA3, 256)
    target = loaded.target
    vocabulary = loaded.model.vocabulary.size
    rng = random.Random(2)
    sequence = target.open_sequence()
    for length in (200, SLIDING_WINDOW + 1, 120, 5):
        prompt = [rng.randrange(3, vocabulary) for _ in range(10)]
        tokens, expected = plain_run(target, sequence, prompt, length)
        # Trees fill and free cells out of order, so the cache is used up and reused.
        target.rewind(sequence, 0)
        target.prefill(sequence, prompt)
        done = 1
        while done < length - 20:
            tree = random_tree(rng, 12, vocabulary, tokens[done : done + 8])
            target.verify([(sequence, tokens[done - 1], tree)])
            path = walk(tree, tokens[done : done + 8])
            target.commit(sequence, path)
            done += 1 + len(path)
        for back in (3, SLIDING_WINDOW, len(prompt)):
            cut = max(1, len(sequence.tokens) - back)
            text = sequence.tokens[:cut]
            target.prefill(sequence, text)
            place = cut - len(prompt)
            if place >= 0:
                assert np.abs(target.logits(sequence) - expected[place]).max() < ROUNDING


def test_a_window_that_moved_on_under_a_resting_branch_leaves_it_behind(
    load_tiny: LoadTiny,
) -> None:
    """While another text comes and goes, llama.cpp takes cells of this one that its window has
    left; branches that were not needed meanwhile still own them."""
    loaded = load_tiny(Architecture.GEMMA3, 256, sequences=2)
    target = loaded.target
    vocabulary = loaded.model.vocabulary.size
    rng = random.Random(4)
    sequence, other = target.open_sequence(), target.open_sequence()
    differences: list[float] = []
    for _ in range(8):
        prompt = [rng.randrange(3, vocabulary) for _ in range(20)]
        truth, expected = plain_run(target, sequence, prompt, 230)
        target.rewind(sequence, 0)
        target.prefill(sequence, prompt)
        done = 1
        while done < 200:
            target.prefill(other, [rng.randrange(3, vocabulary) for _ in range(100)])
            for _ in range(3):
                size = rng.choice([0, 0, 2, 12, 30])
                tree = random_tree(rng, size, vocabulary, truth[done : done + 8])
                target.verify([(sequence, truth[done - 1], tree)])
                path = walk(tree, truth[done : done + 8])
                differences += distances(target, sequence, path, expected[done:])
                target.commit(sequence, path)
                done += 1 + len(path)
    check_rounding(differences, Architecture.GEMMA3)


@pytest.mark.parametrize("sequences", [1, 3, 8])
def test_the_sequences_of_a_batch_share_the_branches_and_the_padding_has_one_too(
    load_tiny: LoadTiny, sequences: int
) -> None:
    target = load_tiny(Architecture.LLAMA, 2048, sequences=sequences).target
    rng = random.Random(sequences)
    opened = [target.open_sequence() for _ in range(sequences)]
    for sequence in opened:
        target.prefill(sequence, [5, 6, 7])
    expected: list[np.ndarray] = []
    for _ in range(6):
        # Another share for each, every time: ids that one gives back another one takes.
        cuts = sorted(rng.randrange(target.max_branches + 1) for _ in opened[1:])
        shares = np.diff([0, *cuts, target.max_branches])
        items = [
            (sequence, 9, _fan(1 + int(branches)))
            for sequence, branches in zip(opened, shares, strict=True)
        ]
        target.verify(items, padding=3)
        seen = [target.logits(sequence).copy() for sequence in opened]
        for sequence, _, tree in items:
            # The token 5 in all of them, whichever branch it is on.
            place = tree.tokens.index(5)
            seen.append(target.logits(sequence, place).copy())
            target.commit(sequence, [place])
        for one in seen[:sequences]:
            assert np.abs(one - seen[0]).max() < ROUNDING
        for one in seen[sequences:]:
            assert np.abs(one - seen[sequences]).max() < ROUNDING
        expected += [seen[0], seen[sequences]]
    tokens, logits = [9, 5] * 6, []
    target.rewind(opened[0], 3)
    for token in tokens:
        target.verify([(opened[0], token, DraftTree())])
        logits.append(target.logits(opened[0]).copy())
        target.commit(opened[0], [])
    for one, other in zip(expected, logits, strict=True):
        assert np.abs(one - other).max() < ROUNDING
    with pytest.raises(ValueError, match="at most"):
        many = _fan(target.max_branches + 3)
        target.verify([(sequence, 9, many) for sequence in opened])


def test_the_cache_is_divided_among_many_texts_and_shared_by_few(load_tiny: LoadTiny) -> None:
    model = load_tiny().model

    def opened(sequences: int, **options: Any) -> Target:
        settings = TargetSettings(64, threads=1, sequences=sequences, **options)
        target = Target(model, settings)
        target.close()
        return target

    assert opened(STREAMS_FROM).shape is DraftShape.CHAINS
    assert opened(STREAMS_FROM - 1).shape is DraftShape.TREES
    assert opened(STREAMS_FROM, cells=1024).shape is DraftShape.TREES
    assert opened(STREAMS_FROM, is_streamed=False).shape is DraftShape.TREES
    assert opened(2, is_streamed=True).shape is DraftShape.CHAINS
    # A part is no longer than the cells that there are for it.
    assert opened(4, is_streamed=True, cells=128).context_length == 32
    assert opened(4, is_streamed=False, cells=48).context_length == 48


@pytest.mark.parametrize("cells", [1, 5, 48])
def test_a_context_of_a_few_tokens_can_be_made(load_tiny: LoadTiny, cells: int) -> None:
    target = Target(load_tiny().model, TargetSettings(cells, threads=1))
    sequence = target.open_sequence()
    target.prefill(sequence, [7] * cells)
    assert target.logits(sequence).shape == (target.model.vocabulary.size,)
    target.close()


def _fan(leaves: int) -> DraftTree:
    """Only children of the root, the token 5 the last of them."""
    tokens = [*range(6, 5 + leaves), 5]
    return DraftTree(tokens, [ROOT] * leaves, [0.1] * leaves, ["x"] * leaves)


def test_reading_stops_between_chunks_and_goes_on_later(load_tiny: LoadTiny) -> None:
    loaded = load_tiny(Architecture.LLAMA, 2048)
    target = loaded.target
    sequence = target.open_sequence()
    prompt = [5 + n % 200 for n in range(1500)]
    seen: list[int] = []

    def stop_at_second(done: int) -> bool:
        seen.append(done)
        return len(seen) < 2

    assert not target.prefill(sequence, prompt, stop_at_second)
    assert 0 < len(sequence.tokens) < len(prompt)
    assert sequence.tokens == prompt[: len(sequence.tokens)]
    again = Reports()
    assert target.prefill(sequence, prompt, again)
    assert again.seen[0] == seen[-1]
    logits = target.logits(sequence).copy()
    target.rewind(sequence, 0)
    target.prefill(sequence, prompt)
    assert np.abs(target.logits(sequence) - logits).max() < ROUNDING


@pytest.mark.parametrize("architecture", PLAIN_ARCHITECTURES)
def test_a_recurrent_state_that_cannot_go_back_takes_no_drafts(
    load_tiny: LoadTiny, architecture: Architecture
) -> None:
    target = load_tiny(architecture).target
    assert target.shape is DraftShape.NONE
    assert target.max_draft == 0


def test_a_context_longer_than_trained_is_refused(load_tiny: LoadTiny) -> None:
    with pytest.raises(UserError, match=r"more than the 4096 that .* was trained for: use --ctx"):
        load_tiny(Architecture.LLAMA, 5000)


def test_more_tokens_than_fit_are_refused_before_llama_cpp_sees_them(load_tiny: LoadTiny) -> None:
    target = load_tiny(Architecture.LLAMA, 64).target
    sequence = target.open_sequence()
    with pytest.raises(ValueError, match="do not fit"):
        target.prefill(sequence, [5] * 65)
    with pytest.raises(ValueError, match="do not fit"):
        target.prefill(sequence, [])
    with pytest.raises(RuntimeError, match="in use"):
        target.open_sequence()


@pytest.mark.parametrize("architecture", [*Architecture])
def test_a_saved_state_gives_the_same_logits(
    load_tiny: LoadTiny, architecture: Architecture
) -> None:
    target = load_tiny(architecture, 1024, sequences=2).target
    sequence, other = target.open_sequence(), target.open_sequence()
    text = [5 + n % 200 for n in range(700)]
    target.prefill(sequence, text[:300])
    target.prefill(other, text[::-1])
    target.prefill(sequence, text)
    state = bytes(target.save_state(sequence))
    target.verify([(sequence, 9, DraftTree())])
    expected = target.logits(sequence).copy()
    target.close_sequence(sequence)
    sequence = target.open_sequence()
    assert target.load_state(sequence, text, state)
    assert sequence.tokens == text
    target.verify([(sequence, 9, DraftTree())])
    assert np.abs(target.logits(sequence) - expected).max() < ROUNDING
    target.commit(sequence, [])
    target.prefill(sequence, [*text, 9, 8, 7])
    again = target.logits(sequence).copy()
    target.rewind(sequence, 0)
    target.prefill(sequence, [*text, 9, 8, 7])
    assert np.abs(target.logits(sequence) - again).max() < FLIP


def test_a_state_that_does_not_fit_leaves_an_empty_text(load_tiny: LoadTiny) -> None:
    large, small = load_tiny(context=1024).target, load_tiny(context=256).target
    sequence = large.open_sequence()
    text = [5] * 700
    large.prefill(sequence, text)
    state = bytes(large.save_state(sequence))
    other = small.open_sequence()
    small.prefill(other, [7, 8, 9])
    assert not small.load_state(other, text, state)
    assert other.tokens == []
    small.prefill(other, [7, 8, 9])


def test_reading_ahead_takes_whole_chunks_and_stops_when_told(load_tiny: LoadTiny) -> None:
    target = load_tiny(context=2048).target
    sequence = target.open_sequence()
    text = [5 + n % 200 for n in range(1000)]
    assert target.read_ahead(sequence, text, lambda: False) == 0
    answers = iter([True, True, True, False])
    some = target.read_ahead(sequence, text, lambda: next(answers))
    assert 0 < some < 1000
    most = target.read_ahead(sequence, text, lambda: True)
    assert some < most == len(sequence.tokens) <= 1000
    assert target.read_ahead(sequence, text[: most - 1], lambda: True) < most
    assert len(sequence.tokens) == most, "what might come again stays"
    reports = Reports()
    target.prefill(sequence, text, reports)
    assert reports.seen[0] == most
    assert target.read_ahead(sequence, [6] * 3000, lambda: True) <= 2048
