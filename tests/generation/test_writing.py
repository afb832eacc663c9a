"""What an answer is said to have gained."""

from __future__ import annotations

from sssd_chat.generation.engine import Engine, GenerationSettings
from tests.generation.toy import RandomDrafter, ToyTarget, ToyVocabulary, greedy_oracle


def test_a_plain_cost_that_is_far_too_high_promises_nothing() -> None:
    target = ToyTarget(12, 200, seed=3)
    engine = Engine(target, ToyVocabulary(12, False))  # type: ignore[arg-type]
    for context in (0, 100, 200):
        for size in range(1, 20):
            engine.cost.observe(size, context, 1000.0 + size)
    conversation = engine.open(RandomDrafter(1, 12, greedy_oracle(target)))
    generation = engine.begin(conversation, [1, 2, 3], GenerationSettings(max_tokens=80))
    drafted = 0
    while not generation.is_finished:
        (step,) = engine.step([generation])
        told = step.statistics
        assert told.plain_seconds is not None
        # A batch is not faster than one token of it.
        assert told.plain_seconds <= told.emitted * told.decode_seconds + told.sampling_seconds
        drafted += told.draft_size
    assert drafted
