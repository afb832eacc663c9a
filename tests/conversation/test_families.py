"""A whole chat with every family of models, drafted for as far as the family allows."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from sssd_chat.conversation.session import ChatSession, ChatSettings
from sssd_chat.drafting import DraftTree
from sssd_chat.generation.cost import StepCost
from sssd_chat.generation.engine import Generation, GenerationSettings
from sssd_chat.generation.loading import LoadedEngine, State
from sssd_chat.generation.statistics import Drafting, StoppedBy
from sssd_chat.llama.sampler import SamplerSettings
from tests.conftest import LoadTiny
from tests.generation.toy import RandomDrafter
from tests.llama.decoding import FLIP, ROUNDING
from tests.tiny_models import CHATML_TEMPLATE, DRAFTED_ARCHITECTURES, Architecture

GREEDY = GenerationSettings(SamplerSettings(temperature=0.0), max_tokens=40)


class Rehearsal:
    """What the model writes next after any text, decoded plainly in a sequence of its own."""

    def __init__(self, loaded: LoadedEngine) -> None:
        self._target = loaded.target
        self._sequence: State = loaded.target.open_sequence()

    def __call__(self, text: list[int]) -> list[int]:
        target, sequence = self._target, self._sequence
        target.prefill(sequence, text)
        tokens: list[int] = []
        for _ in range(4):
            tokens.append(int(target.logits(sequence).argmax()))
            target.verify([(sequence, tokens[-1], DraftTree())])
            target.commit(sequence, [])
        return tokens

    def check(self, generation: Generation[State], has_experts: bool) -> None:
        """Every token of the answer is the best one after the tokens before it."""
        target, sequence = self._target, self._sequence
        target.rewind(sequence, 0)
        target.prefill(sequence, generation.prompt)
        gaps = []
        for token in generation.tokens:
            logits = target.logits(sequence)
            gaps.append(float(logits.max() - logits[token]))
            target.verify([(sequence, token, DraftTree())])
            target.commit(sequence, [])
        wrong = sum(gap > 2 * ROUNDING for gap in gaps)
        assert wrong <= (2 if has_experts else 0)
        assert max(gaps) < FLIP


@pytest.mark.parametrize("architecture", Architecture)
def test_a_chat_with_drafts_is_the_chat_without(
    load_tiny: LoadTiny, architecture: Architecture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over several turns, one of them stopped, and past the attention window."""
    loaded = load_tiny(architecture, 1024, chat_template=CHATML_TEMPLATE, sequences=2)
    rehearsal = Rehearsal(loaded)
    drafter = RandomDrafter(3, loaded.model.vocabulary.size, rehearsal)
    monkeypatch.setattr(LoadedEngine, "new_drafter", lambda _: drafter)
    # As if every batch cost the same: all that is drafted is tried.
    monkeypatch.setattr(StepCost, "seconds", lambda cost, _: np.ones(cost.largest + 1))
    session = ChatSession(loaded, ChatSettings(generation=GREEDY))
    rng = random.Random(1)
    answers: list[Generation[State]] = []
    for turn in range(4):
        question = " ".join(rng.choice(["the cat", "a dog", "and"]) for _ in range(12))
        generation = session.begin(question)
        for count, _ in enumerate(session.steps(generation)):
            if turn == 1 and count == 5:
                session.cancel(generation)
        session.finish(question, generation)
        answers.append(generation)
    assert answers[1].stopped_by is StoppedBy.CANCELLED
    for before, generation in itertools.pairwise(answers):
        known = len(before.prompt) + len(before.tokens) - 1
        assert generation.statistics.reused_tokens == known
    for generation in answers:
        rehearsal.check(generation, architecture.has_experts)
    statistics = answers[-1].statistics
    if architecture in DRAFTED_ARCHITECTURES:
        assert statistics.accepted > 10
        assert statistics.tested > statistics.accepted
    else:
        assert statistics.drafted == 0
        assert statistics.drafting is Drafting.IMPOSSIBLE
