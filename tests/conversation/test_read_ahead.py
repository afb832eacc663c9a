"""Reading ahead saves time and changes nothing."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.conversation.read_ahead import certain_part, shared_tokens
from sssd_chat.conversation.session import ChatSession, ChatSettings
from sssd_chat.generation.engine import Generation, GenerationSettings
from sssd_chat.llama.sequence import TargetSequence
from sssd_chat.llama.target import Target
from tests.conftest import LoadTiny
from tests.tiny_models import CHATML_TEMPLATE, RECURRENT_ARCHITECTURES, Architecture

SETTINGS = ChatSettings(generation=GenerationSettings(max_tokens=30))
WORDS = ["the", "cat", "and", "a", "dog", "é世", "12", "in\n", "<|im_end|>", "  "]


def ask(session: ChatSession, question: str) -> Generation:
    generation = session.begin(question)
    for _ in session.steps(generation):
        pass
    session.finish(question, generation)
    return generation


def typed(rng: random.Random, words: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(words))


def always() -> bool:
    return True


class Chunks:
    """Keeps how the text in the cache of a target was cut when it was read."""

    def __init__(self, target: Target) -> None:
        self.read: list[tuple[int, int]] = []
        """(position, tokens) of each chunk."""
        self._decode = target._read
        target._read = self  # type: ignore[method-assign,assignment]

    def __call__(
        self, sequence: TargetSequence, part: Sequence[int], position: int, end: int, last: bool
    ) -> int:
        self.read = [chunk for chunk in self.read if chunk[0] < position]
        self.read.append((position, len(part)))
        return self._decode(sequence, part, position, end, last)


@pytest.mark.parametrize(
    ("architecture", "small_chunks"),
    [*((architecture, True) for architecture in Architecture), (Architecture.LLAMA, False)],
)
def test_answers_are_the_same_with_and_without(
    load_tiny: LoadTiny, architecture: Architecture, small_chunks: bool
) -> None:
    """The logits bit by bit, whatever was typed, changed and interrupted, and the chunks of the
    prompt, on which the bits depend in larger models."""
    # An engine each, and no drafts, whose sizes follow the clock: bits depend on the place of a
    # token in the cache, too.
    settings = ChatSettings(generation=GenerationSettings(max_tokens=30, drafting=False))
    engines = [
        load_tiny(architecture, 2048, chat_template=CHATML_TEMPLATE, reads_ahead=small_chunks)
        for _ in range(2)
    ]
    plain, ahead = (ChatSession(loaded, settings) for loaded in engines)
    chunks = [Chunks(loaded.target) for loaded in engines]
    rng = random.Random(9)
    saved = 0
    for _ in range(3):
        question = typed(rng, 90)
        for end in sorted(rng.sample(range(len(question)), 4)):
            draft = question[:end]
            if rng.random() < 0.3:
                draft = draft[: end // 2] + typed(rng, 40)
            answers = iter([True] * rng.choice([0, 1, 100]))
            ahead.read_ahead(draft, lambda answers=answers: next(answers, False))
        ahead.read_ahead(question, always)
        generations = [plain.begin(question), ahead.begin(question)]
        logits = [
            loaded.target.logits(session._conversation.state)
            for loaded, session in zip(engines, (plain, ahead), strict=True)
        ]
        assert chunks[0].read == chunks[1].read
        assert (logits[0] == logits[1]).all()
        for session, generation in zip((plain, ahead), generations, strict=True):
            for _ in session.steps(generation):
                pass
            session.finish(question, generation)
        assert generations[0].tokens == generations[1].tokens
        reused = [generation.statistics.reused_tokens for generation in generations]
        saved += reused[1] - reused[0]
    if architecture not in RECURRENT_ARCHITECTURES:
        assert saved > 300


def test_nothing_is_read_that_a_change_takes_back_from_a_recurrent_model(
    load_tiny: LoadTiny,
) -> None:
    loaded = load_tiny(Architecture.MAMBA, 2048, chat_template=CHATML_TEMPLATE)
    session = ChatSession(loaded, SETTINGS)
    first = ask(session, "hello")
    known = len(first.prompt) + len(first.tokens) - 1
    assert session.read_ahead("word " * 100, always) == known
    assert ask(session, "other").statistics.reused_tokens == known


def test_a_restored_chat_is_read_before_the_question_comes(load_tiny: LoadTiny) -> None:
    loaded = load_tiny(Architecture.LLAMA, 2048, chat_template=CHATML_TEMPLATE)
    session = ChatSession(loaded, SETTINGS)
    session.restore([("user", "the cat " * 100), ("assistant", "the dog " * 100)])
    there = session.read_ahead("", always)
    assert there > 300
    assert ask(session, "and?").statistics.reused_tokens == there


def test_a_draft_too_long_or_refused_is_left_alone(load_tiny: LoadTiny) -> None:
    loaded = load_tiny(Architecture.LLAMA, 256, chat_template=CHATML_TEMPLATE)
    session = ChatSession(loaded, SETTINGS)
    assert session.read_ahead("word " * 500, always) == 0


def test_a_draft_that_is_a_beginning_of_what_is_there_takes_nothing_away(
    load_tiny: LoadTiny,
) -> None:
    loaded = load_tiny(Architecture.LLAMA, 2048, chat_template=CHATML_TEMPLATE)
    session = ChatSession(loaded, SETTINGS)
    question = "the cat and the dog " * 40
    most = session.read_ahead(question, always)
    assert most > 500
    session.read_ahead(question[:100], always)
    assert session.context_tokens == most
    assert ask(session, question).statistics.reused_tokens == most


@given(st.text(st.sampled_from("ab \n世"), max_size=100))
def test_the_certain_part_is_a_beginning_without_the_last_word(draft: str) -> None:
    part = certain_part(draft)
    assert draft.startswith(part)
    assert len(draft) - len(part) <= 32 or not draft[len(part) :].split()[1:]
    assert not part or draft[len(part)].isspace() or len(draft) - len(part) == 32


def test_shared_tokens() -> None:
    assert shared_tokens([1, 2, 3], [1, 2, 4, 5]) == [1, 2]
    assert shared_tokens([1, 2], [1, 2, 3]) == [1, 2]
    assert shared_tokens([], [1]) == []
