"""Looking for drafts takes a bounded part of the steps, however many look and whatever it finds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from sssd_chat.drafting import DraftTree, ObservedStep
from sssd_chat.generation.batching import Request, Scheduler
from sssd_chat.generation.batching.looking import Looking
from sssd_chat.generation.cost import StepCost
from sssd_chat.generation.engine import Engine, GenerationSettings
from sssd_chat.generation.guard import DraftGuard
from tests.generation.toy import ToyState, ToyTarget, ToyVocabulary, greedy_oracle

SIZE = 12


@pytest.mark.parametrize("seed", range(10))
def test_the_time_of_a_node_is_told_from_that_of_a_look(seed: int) -> None:
    rng = random.Random(seed)
    base, each = rng.uniform(0.0, 1e-3), rng.uniform(0.0, 1e-4)
    looking = Looking()
    for _ in range(300):
        nodes = rng.randrange(60)
        looking.observe(nodes, (base + each * nodes) * rng.uniform(0.9, 1.1))
    assert looking.seconds_of_node == pytest.approx(each, rel=0.3, abs=1e-5)
    assert looking.floor(0.01) == pytest.approx(100 * each, rel=0.3, abs=1e-3)


def test_nothing_is_made_of_looks_that_are_all_alike() -> None:
    looking = Looking()
    assert (looking.seconds, looking.seconds_of_node, looking.floor(1.0)) == (0.0, 0.0, 0.0)
    for _ in range(100):
        looking.observe(5, 0.001)
    assert looking.seconds == pytest.approx(0.001)
    assert looking.seconds_of_node == 0.0


def test_a_busy_machine_is_not_believed() -> None:
    looking = Looking()
    for _ in range(100):
        looking.observe(5, 0.001)
    looking.observe(5, 10.0)
    assert looking.seconds < 0.0011


@pytest.mark.parametrize("sequences", [4, 32, 128])
def test_looks_that_do_not_pay_share_a_small_part_of_the_steps_and_take_turns(
    sequences: int,
) -> None:
    looking = Looking()
    guards = [DraftGuard() for _ in range(sequences)]
    looks = [0] * sequences
    for _ in range(3000):
        for number, may in enumerate(looking.choose(guards, 1.0)):
            if not may:
                guards[number].pass_over()
            looks[number] += may
            guards[number].observe(0, 1, 1.0, 0.0, None)
            if may:
                looking.observe(3, 0.015, 0.005)
    assert sum(looks) * 0.02 < 0.04 * 3000
    assert max(looks) - min(looks) <= 8
    assert min(looks) > 0


def test_looks_that_pay_are_not_counted_against_the_others() -> None:
    looking = Looking()
    guards = [DraftGuard() for _ in range(40)]
    for guard in guards[:20]:
        guard.observe(8, 5, 1.0, 0.02, 0.5)
    for _ in range(50):
        looking.observe(3, 0.02, paid=True)
    assert looking.choose(guards, 1.0)[:20] == [True] * 20
    assert sum(looking.choose(guards, 1.0)) > 20


def test_where_there_is_time_for_all_all_look() -> None:
    looking = Looking()
    guards = [DraftGuard() for _ in range(64)]
    for _ in range(20):
        looking.observe(3, 1e-4)
    assert all(looking.choose(guards, 1.0))


@dataclass
class Clock:
    """Time as the drafters spend it."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


class SlowDrafter:
    """Drafts by a table, rightly or wrongly, and takes a while for it."""

    best_tokens_wanted = 0

    def __init__(self, clock: Clock, target: ToyTarget, seconds: float, right: bool) -> None:
        self.clock, self.seconds, self.right = clock, seconds, right
        self.oracle = greedy_oracle(target)
        self.text: list[int] = []

    def begin(self, tokens: Sequence[int]) -> None:
        self.text = list(tokens)

    def draft(self, budget: int, floor: float = 0.0, **limits: Any) -> DraftTree:
        self.clock.now += self.seconds
        tree = DraftTree()
        for node, token in enumerate(self.oracle(self.text)[:budget]):
            tree.add(token if self.right else (token + 1) % SIZE, node - 1, 0.9, "any")
        return tree

    def observe(self, step: ObservedStep) -> None:
        self.text += step.emitted


class FlatTarget(ToyTarget):
    """A step takes hardly longer for more tokens, as on a GPU."""

    def verify(self, *arguments: Any, **named: Any) -> float:
        super().verify(*arguments, **named)
        return 1.0 + 0.0005 * self.batches[-1]


def share_of_drafting(sequences: int, right: bool, look: float = 0.02) -> tuple[float, float]:
    """The share of all time that went into drafts, and the tokens of each answer a step."""
    target = FlatTarget(SIZE, 400, 3, sequences=sequences)
    cost = StepCost(300)
    for size in range(1, 301):
        cost.observe(size, 1, 1.0 + 0.0005 * size)
    clock = Clock()
    engine: Engine[ToyState] = Engine(target, ToyVocabulary(SIZE), cost)  # type: ignore[arg-type]
    scheduler = Scheduler(engine, lambda: SlowDrafter(clock, target, look, right), clock)
    for number in range(sequences):
        scheduler.add(Request((1, number % SIZE, 3), GenerationSettings(max_tokens=300)))
    emitted = steps = 0
    while not scheduler.is_idle:
        for progress in scheduler.step():
            if progress.statistics is not None:
                emitted += progress.statistics.emitted
                steps += progress.statistics.steps
    return clock.now / (clock.now + len(target.batches)), emitted / steps


@pytest.mark.parametrize("sequences", [4, 16, 64])
def test_drafts_that_come_to_nothing_take_a_bounded_part_of_the_time(sequences: int) -> None:
    share, tokens_a_step = share_of_drafting(sequences, right=False)
    assert share < 0.06
    assert tokens_a_step < 1.1


@pytest.mark.parametrize("sequences", [4, 16, 64])
def test_drafts_that_pay_are_made_whatever_they_take(sequences: int) -> None:
    share, tokens_a_step = share_of_drafting(sequences, right=True, look=0.005)
    assert tokens_a_step > 2.5
    # Less than what they save: without them it would be a token a step.
    assert share < 1.0 - 1.0 / tokens_a_step


def test_a_look_that_takes_more_than_it_gives_is_given_up_though_drafts_are_right() -> None:
    """64 texts wait for each look; eight tokens for a twentieth of a step are a loss then."""
    share, tokens_a_step = share_of_drafting(64, right=True, look=0.5)
    assert share < 0.1
    assert tokens_a_step < 1.5
