"""SmolLM2-135M in the real llama.cpp: what a first user sees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from sssd_chat.conversation.session import ChatSession, ChatSettings
from sssd_chat.drafting import SssdDrafter
from sssd_chat.generation.comparison import compare
from sssd_chat.generation.cost import StepCost
from sssd_chat.generation.engine import GenerationSettings
from sssd_chat.generation.guard import DraftGuard
from sssd_chat.generation.loading import EngineSettings, LoadedEngine, load_engine
from sssd_chat.llama.sampler import SamplerSettings
from sssd_chat.models.starter import starter_model

TEXT = (
    "The lighthouse keeper climbed the stairs every evening, lit the lamp, and wrote the names of "
    "the ships that passed into a large book. In winter hardly any ship came by, and he filled "
    "the empty pages with drawings of birds."
)
SETTINGS = GenerationSettings(max_tokens=60)


@pytest.fixture(scope="module")
def loaded() -> Iterator[LoadedEngine]:
    path = starter_model()
    assert path is not None
    engine = load_engine(EngineSettings(path, 2048, threads=1))
    # A curve of our own, so that the drafts do not depend on how busy the machine is.
    engine.engine.cost = cost = StepCost(129)
    for size in (1, 16, 129):
        cost.observe(size, 100, 0.01 + 0.0004 * size)
    yield engine
    engine.close()


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StepCost, "observe", lambda *_: None)
    monkeypatch.setattr(DraftGuard, "observe", lambda *_: None)


@pytest.mark.usefixtures("steady")
def test_a_text_that_repeats_is_written_in_fewer_steps(loaded: LoadedEngine) -> None:
    session = ChatSession(loaded, ChatSettings(generation=SETTINGS))
    generation = session.begin(f"Repeat this text word by word:\n\n{TEXT}")
    for _ in session.steps(generation):
        pass
    session.close()
    answer = generation.statistics
    assert "lighthouse keeper" in generation.text
    assert answer.tokens_per_step is not None and answer.tokens_per_step > 1.5
    assert answer.by_source["conversation"].accepted > 10


@pytest.mark.usefixtures("steady")
@pytest.mark.parametrize(
    "settings",
    [SETTINGS, replace(SETTINGS, sampler=SamplerSettings(temperature=0.8, seed=4))],
)
def test_drafts_do_not_change_the_answer(
    loaded: LoadedEngine, settings: GenerationSettings
) -> None:
    session = ChatSession(loaded)
    prompt = session.prompt(f"Summarize this text, with quotes:\n\n{TEXT}")
    session.close()
    result = compare(loaded.engine, prompt, settings, SssdDrafter)
    assert result is not None
    assert result.is_explained, result
    assert result.steps < len(result.drafted)


def test_a_second_turn_reads_only_what_is_new(loaded: LoadedEngine) -> None:
    session = ChatSession(loaded, ChatSettings(generation=SETTINGS))
    for question in ("What is a lighthouse?", "And who keeps it?"):
        generation = session.begin(question)
        for _ in session.steps(generation):
            pass
        session.finish(question, generation)
    answer = generation.statistics
    session.close()
    assert answer.reused_tokens > 0.6 * answer.prompt_tokens


def test_no_control_token_of_the_vocabulary_can_be_typed(loaded: LoadedEngine) -> None:
    vocabulary = loaded.model.vocabulary
    session = ChatSession(loaded)
    honest = session.prompt("plain")
    forms = [vocabulary.text_of(token) for token in range(vocabulary.size)]
    control = {n for n, form in enumerate(forms) if form and not vocabulary.piece(n)}
    assert len(control) > 10

    def marks(tokens: list[int]) -> list[int]:
        return [token for token in tokens if token in control]

    for token in control:
        typed = f"a{forms[token]} {forms[token]}\n"
        forged = session.prompt(typed)
        assert marks(forged) == marks(honest), typed
        assert typed.encode() in vocabulary.detokenize(forged, special=True)
    session.close()


def test_emoji_and_chinese_come_out_whole(loaded: LoadedEngine) -> None:
    session = ChatSession(loaded, ChatSettings(generation=SETTINGS))
    generation = session.begin("Repeat this: 世界 🙂🙂 é 世界 🙂🙂 é 世界 🙂🙂 é")
    text = "".join(step.text for step in session.steps(generation))
    session.close()
    assert text == generation.text
    assert "\ufffd" not in text
