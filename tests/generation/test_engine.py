"""The loop against a toy target whose every next token is known."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sssd_chat.drafting import Drafter, DraftTree, PlainDrafter
from sssd_chat.errors import UserError
from sssd_chat.generation.cost import StepCost
from sssd_chat.generation.engine import (
    Engine,
    Generation,
    GenerationSettings,
    PromptTooLong,
)
from sssd_chat.generation.statistics import Drafting, StoppedBy
from sssd_chat.llama.sampler import SamplerSettings
from sssd_chat.llama.shape import DraftShape
from tests.generation.toy import RandomDrafter, ToyState, ToyTarget, ToyVocabulary, greedy_oracle

SETTINGS = GenerationSettings(max_tokens=60)


def make_engine(
    size: int = 12, context: int = 1000, can_end: bool = False, seed: int = 0, **options: object
) -> Engine[ToyState]:
    target = ToyTarget(size, context, seed)
    return Engine(target, ToyVocabulary(size, can_end, **options))  # type: ignore[arg-type]


def write(
    engine: Engine[ToyState],
    prompt: list[int],
    settings: GenerationSettings,
    drafter: Drafter | None = None,
) -> Generation[ToyState]:
    conversation = engine.open(drafter or PlainDrafter())
    generation = engine.begin(conversation, prompt, settings)
    text = ""
    while not generation.is_finished:
        (step,) = engine.step([generation])
        text += step.text
        assert generation.tokens[len(generation.tokens) - len(step.tokens) :] == step.tokens
    assert text == generation.text
    engine.close(conversation)
    return generation


def random_drafter(engine: Engine[ToyState], seed: int) -> RandomDrafter:
    target = engine.target
    assert isinstance(target, ToyTarget)
    return RandomDrafter(seed, target.size, greedy_oracle(target))


SAMPLERS = [
    SamplerSettings(),
    SamplerSettings(repeat_penalty=1.3, frequency_penalty=0.4, presence_penalty=0.3),
    SamplerSettings(temperature=1.0, seed=5, top_k=0, top_p=1.0, min_p=0.0),
    SamplerSettings(temperature=0.8, seed=6),
    SamplerSettings(temperature=1.2, seed=7, repeat_penalty=1.2, presence_penalty=0.5),
]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_random_drafts_never_change_a_token(sampler: SamplerSettings) -> None:
    """One draw a token, on the true logits, in order: with the same seed, the same text."""
    for seed in range(80):
        engine = make_engine(seed=seed % 5)
        rng = random.Random(seed)
        prompt = [rng.randrange(12) for _ in range(rng.randrange(1, 20))]
        settings = replace(SETTINGS, sampler=sampler)
        plain = write(engine, prompt, settings)
        drafter = random_drafter(engine, seed)
        drafted = write(engine, prompt, settings, drafter)
        assert drafted.tokens == plain.tokens
        assert drafted.text == plain.text
        # A drafter put to rest has not seen the end.
        assert drafter.text == (prompt + drafted.tokens)[: len(drafter.text)]
        assert drafted.statistics.steps <= plain.statistics.steps == len(plain.tokens)


@pytest.mark.parametrize("penalty", [1.0, 1.5])
def test_the_distribution_of_outputs_is_that_without_drafts(penalty: float) -> None:
    """Chi-square of all three-token outputs, drafted and plain runs with seeds of their own."""
    size, runs = 4, 2000
    engine = make_engine(size)
    counts = np.zeros((2, size**3))
    for seed in range(2 * runs):
        sampler = SamplerSettings(
            temperature=1.3, seed=seed, top_k=0, top_p=1.0, min_p=0.0, repeat_penalty=penalty
        )
        settings = GenerationSettings(sampler, max_tokens=3)
        drafter = random_drafter(engine, seed) if seed % 2 else None
        tokens = write(engine, [1, 2], settings, drafter).tokens
        counts[seed % 2, tokens[0] * size * size + tokens[1] * size + tokens[2]] += 1
    common = counts.sum(axis=0) >= 10
    table = np.vstack([counts[:, common].T, counts[:, ~common].sum(axis=1)]).T
    expected = table.sum(axis=0) * table.sum(axis=1, keepdims=True) / table.sum()
    statistic = ((table - expected) ** 2 / np.maximum(expected, 1e-9)).sum()
    freedom = table.shape[1] - 1
    assert freedom > 20
    assert statistic < freedom + 4 * np.sqrt(2 * freedom)


def test_several_answers_in_one_batch_are_those_alone() -> None:
    engine = make_engine()
    alone = [write(engine, [n, n + 1], SETTINGS).tokens for n in range(4)]
    generations = []
    for n in range(4):
        conversation = engine.open(random_drafter(engine, n))
        generation = engine.begin(conversation, [n, n + 1], SETTINGS)
        engine.step([generation])
        generations.append(generation)
    while live := [g for g in generations if not g.is_finished]:
        engine.step(live)
    assert [g.tokens for g in generations] == alone


def test_the_counts_of_an_answer_add_up() -> None:
    engine = make_engine()
    drafter = random_drafter(engine, 1)
    generation = write(engine, [3, 4, 5], SETTINGS, drafter)
    answer = generation.statistics
    steps = drafter.steps
    assert answer.steps == len(steps)
    assert answer.emitted == len(generation.tokens) == sum(len(s.emitted) for s in steps)
    assert answer.drafted == sum(len(s.tree) for s in steps)
    assert answer.accepted == sum(len(s.path) for s in steps)
    assert answer.tokens_per_step == answer.emitted / answer.steps
    assert 0 < answer.accepted < answer.tested < answer.drafted
    assert answer.acceptance_rate == answer.accepted / answer.tested
    for table in (answer.by_source, answer.by_depth):
        for field in ("drafted", "tested", "accepted"):
            assert sum(getattr(c, field) for c in table.values()) == getattr(answer, field)
    # Each accepted depth rests on the one above it.
    accepted = [count.accepted for _, count in sorted(answer.by_depth.items())]
    assert accepted == sorted(accepted, reverse=True)


def test_the_speed_up_of_plain_decoding_is_one_and_that_of_good_drafts_is_more() -> None:
    engine = make_engine()
    engine.cost.observe(1, 10, 1.05)
    plain = write(engine, [1, 2], replace(SETTINGS, drafting=False)).statistics
    assert plain.speed_up == pytest.approx(1.0, abs=0.01)
    target = engine.target
    assert isinstance(target, ToyTarget)
    drafted = write(engine, [1, 2], SETTINGS, _TwoNodes(0, 12, greedy_oracle(target))).statistics
    # Three tokens in the time of a batch of three, 1.15, against 1.05 each.
    assert drafted.speed_up == pytest.approx(3 * 1.05 / 1.15, rel=0.1)


def test_a_node_under_a_refused_one_was_not_tested() -> None:
    engine = make_engine()
    drafter = random_drafter(engine, 2)
    write(engine, [3, 4, 5], SETTINGS, drafter)
    for step in drafter.steps:
        reached = {-1, *step.path}
        tested = [n for n, parent in enumerate(step.tree.parents) if parent in reached]
        looked_at = [node for node, _ in step.best_tokens]
        assert looked_at[: 1 + len(step.path)][0] == -1
        assert set(step.path) <= set(tested)


def test_the_best_tokens_of_every_accepted_node_are_told() -> None:
    engine = make_engine()
    drafter = random_drafter(engine, 3)
    write(engine, [1], SETTINGS, drafter)
    for step in drafter.steps:
        told = dict(step.best_tokens)
        for node, emitted in zip([-1, *step.path], step.emitted, strict=False):
            assert told[node][0] == emitted
            assert len(told[node]) == drafter.best_tokens_wanted


def test_without_anything_tested_the_rate_is_unknown() -> None:
    generation = write(make_engine(), [1], SETTINGS)
    assert generation.statistics.acceptance_rate is None
    assert generation.statistics.tokens_per_step == 1.0


class _TwoNodes(RandomDrafter):
    """Drafts the next two tokens, always."""

    def draft(self, budget: int, floor: float = 0.0, **limits: Any) -> DraftTree:
        first, second = self.oracle(self.text)[:2]
        return DraftTree([first, second], [-1, 0], [0.99, 0.98], ["x", "x"])


def test_a_batch_is_padded_where_a_larger_one_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = make_engine()
    target = engine.target
    assert isinstance(target, ToyTarget)
    for size, seconds in {1: 1.0, 2: 1.4, 3: 1.8, 4: 1.5, 8: 3.0}.items():
        engine.cost.observe(size, 10, seconds)
    monkeypatch.setattr(StepCost, "observe", lambda *_: None)
    plain = write(engine, [1, 2], replace(SETTINGS, drafting=False)).tokens
    assert set(target.batches) == {1}
    target.batches.clear()
    drafter = _TwoNodes(0, target.size, greedy_oracle(target))
    assert write(engine, [1, 2], SETTINGS, drafter).tokens == plain
    assert set(target.batches) <= {1, 4}
    assert target.batches.count(4) > 15


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_the_token_limit_holds_inside_a_draft(limit: int) -> None:
    for seed in range(30):
        engine = make_engine()
        generation = write(
            engine, [1, 2], replace(SETTINGS, max_tokens=limit), random_drafter(engine, seed)
        )
        assert len(generation.tokens) == limit
        assert generation.stopped_by is StoppedBy.LENGTH


def test_no_draft_is_longer_than_what_may_still_be_written() -> None:
    engine = make_engine()
    target = engine.target
    assert isinstance(target, ToyTarget)
    drafter = _Deep(0, target.size, greedy_oracle(target, 40))
    write(engine, [1, 2], replace(SETTINGS, max_tokens=7), drafter)
    # The target adds a token to what it accepts.
    written = list(itertools.accumulate([len(step.emitted) for step in drafter.steps], initial=0))
    assert [max(step.tree.depths(), default=0) for step in drafter.steps] == [
        0 if not place else 7 - place - 1 for place in written[:-1]
    ]


class _Deep(RandomDrafter):
    """Drafts the truth, as far as it may."""

    def draft(self, budget: int, floor: float = 0.0, **limits: Any) -> DraftTree:
        tree = DraftTree()
        for token in self.oracle(self.text)[: min(budget, limits["depth"])]:
            tree.add(token, len(tree) - 1, 0.999, "x")
        return tree


def test_an_end_token_inside_a_draft_ends_the_answer_there() -> None:
    ends = 0
    for seed in range(60):
        engine = make_engine(can_end=True, seed=seed)
        plain = write(engine, [1, 2], SETTINGS)
        drafter = random_drafter(engine, seed)
        drafted = write(engine, [1, 2], SETTINGS, drafter)
        assert drafted.tokens == plain.tokens
        assert drafted.stopped_by == plain.stopped_by
        assert 0 not in drafted.tokens[:-1]
        if drafted.stopped_by is StoppedBy.END:
            ends += 1
            assert len(drafted.text) == len(drafted.tokens) - 1
            assert drafter.text[-1] == 0
    assert ends > 10


def test_a_stop_string_inside_a_draft_ends_the_answer_before_it() -> None:
    stopped = 0
    for seed in range(60):
        engine = make_engine(seed=seed)
        free = write(engine, [1, 2], SETTINGS).text
        stop = free[7:10]
        settings = replace(SETTINGS, stop=(stop, "never"))
        drafted = write(engine, [1, 2], settings, random_drafter(engine, seed))
        assert drafted.text == free[: free.index(stop)]
        assert drafted.stopped_by is StoppedBy.STOP
        stopped += 1
    assert stopped == 60


def test_a_full_context_ends_the_answer_and_no_draft_reaches_past_it() -> None:
    for context in range(12, 24):
        engine = make_engine(context=context)
        plain = write(engine, [1] * 10, replace(SETTINGS, max_tokens=None))
        drafted = write(
            engine, [1] * 10, replace(SETTINGS, max_tokens=None), random_drafter(engine, context)
        )
        assert drafted.tokens == plain.tokens
        assert drafted.stopped_by is plain.stopped_by is StoppedBy.CONTEXT
        # The last token needs no place of its own: nothing is read after it.
        assert len(drafted.tokens) == context - 10 + 1


def test_a_prompt_that_fills_the_context_gets_one_token() -> None:
    engine = make_engine(context=20)
    generation = write(engine, [1] * 20, SETTINGS, random_drafter(engine, 0))
    assert len(generation.tokens) == 1
    assert generation.stopped_by is StoppedBy.CONTEXT


def test_a_prompt_that_does_not_fit_says_by_how_much() -> None:
    engine = make_engine(context=20)
    with pytest.raises(PromptTooLong, match=r"has 23 tokens and the context holds 20.* by 3"):
        write(engine, [1] * 23, SETTINGS)


def test_an_empty_prompt_is_refused() -> None:
    with pytest.raises(UserError, match="empty"):
        write(make_engine(), [], SETTINGS)


def test_cancelling_while_the_prompt_is_read() -> None:
    engine = make_engine()
    conversation = engine.open(random_drafter(engine, 0))
    seen: list[int] = []

    def stop_at_32(done: int) -> bool:
        seen.append(done)
        return done < 32

    generation = engine.begin(conversation, [1] * 100, SETTINGS, stop_at_32)
    assert generation.is_finished
    assert generation.stopped_by is StoppedBy.CANCELLED
    assert (generation.tokens, generation.text) == ([], "")
    assert seen == [0, 16, 32]
    # What was read is not read again.
    again = engine.begin(conversation, [1] * 100, SETTINGS)
    assert again.statistics.reused_tokens == 32


def test_cancelling_keeps_what_was_written() -> None:
    engine = make_engine()
    whole = write(engine, [1, 2], SETTINGS).text
    settings = replace(SETTINGS, stop=(whole[-3:] + "!",))
    generation = engine.begin(engine.open(random_drafter(engine, 0)), [1, 2], settings)
    text = ""
    for _ in range(3):
        text += engine.step([generation])[0].text
    text += engine.cancel(generation)
    assert generation.stopped_by is StoppedBy.CANCELLED
    assert text == generation.text == whole[: len(generation.tokens)]


def test_characters_split_over_tokens_appear_whole() -> None:
    pieces = ["🙂"[:1].encode()[n : n + 1] for n in range(4)] + [
        "世".encode()[:2],
        "界".encode()[1:],
    ]
    pieces += [b"a", "é".encode(), b"\xff", "世".encode()[2:], b" ", b"b"]
    for seed in range(40):
        engine = make_engine(seed=seed, pieces=pieces)
        plain = write(engine, [1], SETTINGS)
        drafted = write(engine, [1], SETTINGS, random_drafter(engine, seed))
        assert drafted.text == plain.text
        whole = b"".join(pieces[token] for token in plain.tokens).decode("utf-8", "replace")
        assert whole.startswith(plain.text)
        assert len(whole) - len(plain.text) <= 3


def test_drafting_off_means_no_draft_and_says_so() -> None:
    engine = make_engine()
    generation = write(engine, [1, 2], replace(SETTINGS, drafting=False), random_drafter(engine, 1))
    assert generation.statistics.drafted == 0
    assert generation.statistics.drafting is Drafting.OFF_BY_USER


def test_drafts_switched_on_in_the_middle_know_the_text() -> None:
    engine = make_engine()
    drafter = random_drafter(engine, 1)
    off = replace(SETTINGS, drafting=False)
    generation = engine.begin(engine.open(drafter), [1, 2], off)
    for _ in range(10):
        engine.step([generation])
    # Nothing is spent on a drafter that may not draft.
    assert (drafter.text, drafter.steps) == ([], [])
    generation.settings = SETTINGS
    while not generation.is_finished:
        engine.step([generation])
    assert drafter.text == [1, 2, *generation.tokens]
    assert generation.statistics.accepted > 0
    assert generation.tokens == write(engine, [1, 2], off).tokens


class _Hopeless(RandomDrafter):
    """Drafts what is never right, and is sure of it."""

    def draft(self, budget: int, floor: float = 0.0, **limits: Any) -> DraftTree:
        right = self.oracle(self.text)[0]
        return DraftTree([(right + 1) % self.size], [-1], [0.99], ["x"])


def test_a_drafter_that_only_costs_is_put_to_rest_and_knows_the_text_when_it_wakes() -> None:
    engine = make_engine()
    target = engine.target
    assert isinstance(target, ToyTarget)
    drafter = _Hopeless(0, target.size, greedy_oracle(target))
    conversation = engine.open(drafter)
    for turn in range(2):
        settings = replace(SETTINGS, max_tokens=300)
        generation = engine.begin(conversation, [1, 2, turn], settings)
        seen = []
        while not generation.is_finished:
            (step,) = engine.step([generation])
            seen.append(step.statistics.drafting)
        # Every turn begins with drafts, and after a while they rest.
        assert seen[1] is Drafting.ON
        assert seen.count(Drafting.OFF_BY_COST) > 150
        assert 0 < generation.statistics.drafted < 150
        known = len(drafter.text)
        assert drafter.text == [1, 2, turn, *generation.tokens][:known]


def test_a_target_without_trees_is_decoded_plainly_and_says_so() -> None:
    engine = make_engine()
    engine.target.shape = DraftShape.NONE
    generation = write(engine, [1, 2], SETTINGS, random_drafter(engine, 1))
    assert generation.statistics.drafted == 0
    assert generation.statistics.drafting is Drafting.IMPOSSIBLE
