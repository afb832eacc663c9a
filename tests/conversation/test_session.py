"""A chat over several turns with a tiny model in the real llama.cpp."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sssd_chat.conversation.session import ChatSession, ChatSettings
from sssd_chat.drafting import PlainDrafter
from sssd_chat.errors import UserError
from sssd_chat.generation.engine import Generation, GenerationSettings, PromptTooLong
from sssd_chat.generation.loading import LoadedEngine
from sssd_chat.generation.statistics import StoppedBy
from tests.conftest import LoadTiny
from tests.tiny_models import (
    CHATML_TEMPLATE,
    PLAIN_ARCHITECTURES,
    RECURRENT_ARCHITECTURES,
    Architecture,
)

SETTINGS = ChatSettings(generation=GenerationSettings(max_tokens=40))


def ask(session: ChatSession, question: str) -> Generation:
    generation = session.begin(question)
    for _ in session.steps(generation):
        pass
    session.finish(question, generation)
    return generation


def written(loaded: LoadedEngine, generation: Generation) -> str:
    """The prompt as text, control tokens included."""
    prompt = loaded.model.vocabulary.detokenize(generation.prompt, special=True)
    return prompt.decode("utf-8", "replace")


def test_the_answer_is_not_read_again_on_the_next_turn(load_tiny: LoadTiny) -> None:
    loaded = load_tiny(context=1024, chat_template=CHATML_TEMPLATE)
    session = ChatSession(loaded, SETTINGS)
    first = ask(session, "the cat and the dog")
    second = ask(session, "and then?")
    known = len(first.prompt) + len(first.tokens)
    # The last token of the answer was never put into the cache.
    assert second.statistics.reused_tokens == known - 1
    assert second.prompt[:known] == first.prompt + first.tokens
    text = loaded.model.vocabulary.detokenize(second.prompt, special=True).decode(
        "utf-8", "replace"
    )
    assert text.endswith(
        f"{first.text}<|im_end|>\n<|im_start|>user\nand then?<|im_end|>\n<|im_start|>assistant\n"
    )


@pytest.mark.parametrize("architecture", [*Architecture])
def test_a_second_turn_is_what_a_fresh_reading_gives(
    load_tiny: LoadTiny, architecture: Architecture
) -> None:
    loaded = load_tiny(architecture, 1024, chat_template=CHATML_TEMPLATE, sequences=2)
    session = ChatSession(loaded, SETTINGS)
    ask(session, "one two three")
    second = ask(session, "four five")
    fresh = loaded.engine.open(PlainDrafter())
    again = loaded.engine.begin(fresh, second.prompt, SETTINGS.generation)
    loaded.engine.step([again])
    assert again.tokens[0] == second.tokens[0]


@pytest.mark.parametrize("architecture", RECURRENT_ARCHITECTURES)
def test_recurrent_models_go_on_where_they_are(
    load_tiny: LoadTiny, architecture: Architecture
) -> None:
    loaded = load_tiny(architecture, 1024, chat_template=CHATML_TEMPLATE)
    session = ChatSession(loaded, SETTINGS)
    first = ask(session, "one two three")
    second = ask(session, "four five")
    assert second.statistics.reused_tokens == len(first.prompt) + len(first.tokens) - 1
    if architecture in PLAIN_ARCHITECTURES:
        assert second.statistics.drafted == 0


def test_a_new_chat_keeps_nothing_of_the_old_one(load_tiny: LoadTiny) -> None:
    loaded = load_tiny(context=1024, chat_template=CHATML_TEMPLATE)
    session = ChatSession(loaded, SETTINGS)
    first = ask(session, "the cat and the dog")
    ask(session, "and then?")
    session.reset()
    assert len(session._conversation.drafter.draft(20)) == 0
    again = ask(session, "the cat and the dog")
    assert again.tokens == first.tokens
    assert again.statistics.reused_tokens == 0


def test_a_stopped_answer_is_part_of_the_chat(load_tiny: LoadTiny) -> None:
    loaded = load_tiny(context=1024, chat_template=CHATML_TEMPLATE)
    session = ChatSession(loaded, SETTINGS)
    generation = session.begin("hello")
    steps = session.steps(generation)
    for _ in range(5):
        next(steps)
    session.cancel(generation)
    assert list(steps) == []
    session.finish("hello", generation)
    assert session.messages[-1].content == generation.text
    assert generation.stopped_by is StoppedBy.CANCELLED
    second = ask(session, "go on")
    assert second.statistics.reused_tokens >= len(generation.prompt)


def test_a_system_prompt_is_in_every_prompt(load_tiny: LoadTiny) -> None:
    loaded = load_tiny(context=1024, chat_template=CHATML_TEMPLATE)
    session = ChatSession(loaded, replace(SETTINGS, system="be kind"))
    ask(session, "one")
    second = ask(session, "two")
    text = loaded.model.vocabulary.detokenize(second.prompt, special=True).decode(
        "utf-8", "replace"
    )
    assert text.count("system\nbe kind") == 1


def test_an_empty_question_is_refused_and_changes_nothing(load_tiny: LoadTiny) -> None:
    session = ChatSession(load_tiny(chat_template=CHATML_TEMPLATE), SETTINGS)
    for question in ("", "  \n"):
        with pytest.raises(UserError, match="empty"):
            session.begin(question)
    assert session.messages == []


def test_a_question_that_does_not_fit_says_so_and_the_chat_goes_on(load_tiny: LoadTiny) -> None:
    session = ChatSession(load_tiny(context=128, chat_template=CHATML_TEMPLATE), SETTINGS)
    with pytest.raises(PromptTooLong, match=r"is [\d,]+ tokens too long for the context of 128"):
        session.begin("word " * 400)
    assert ask(session, "short").tokens


def test_a_chat_that_fills_the_context_ends_its_answer_there(load_tiny: LoadTiny) -> None:
    loaded = load_tiny(context=128, chat_template=CHATML_TEMPLATE)
    session = ChatSession(loaded, ChatSettings(generation=GenerationSettings()))
    generation = ask(session, "hello")
    assert generation.stopped_by is StoppedBy.CONTEXT
    assert len(generation.prompt) + len(generation.tokens) == 129
