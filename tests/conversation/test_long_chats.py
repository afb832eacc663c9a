"""Chats that fill the context, that think, and that are opened again."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from sssd_chat.conversation.session import ChatSession, ChatSettings
from sssd_chat.conversation.state_cache import StateCache
from sssd_chat.conversation.templates import Message
from sssd_chat.generation.engine import Generation, GenerationSettings, PromptTooLong
from sssd_chat.generation.loading import LoadedEngine
from sssd_chat.generation.statistics import StoppedBy
from tests.conftest import LoadTiny
from tests.tiny_models import CHATML_TEMPLATE, RECURRENT_ARCHITECTURES, Architecture

SETTINGS = ChatSettings(generation=GenerationSettings(max_tokens=40))

THINKING_TEMPLATE = CHATML_TEMPLATE.replace(
    "assistant\n{% endif %}", "assistant\n<think>\n{% endif %}"
)
"""Opens the block in the prompt, and leaves the thinking of earlier answers out."""

REOPENED = [
    ("user", "the cat and the dog " * 40),
    ("assistant", "in the end they are the same " * 20),
]


def ask(session: ChatSession, question: str) -> Generation:
    generation = session.begin(question)
    for _ in session.steps(generation):
        pass
    session.finish(question, generation)
    return generation


def written(loaded: LoadedEngine, generation: Generation) -> str:
    prompt = loaded.model.vocabulary.detokenize(generation.prompt, special=True)
    return prompt.decode("utf-8", "replace")


# The context fills


def test_the_oldest_turns_leave_whole_and_the_system_prompt_stays(load_tiny: LoadTiny) -> None:
    loaded = load_tiny(context=1024, chat_template=CHATML_TEMPLATE)
    session = ChatSession(loaded, replace(SETTINGS, system="be kind"))
    left_out = [0]
    for number in range(14):
        generation = ask(session, f"question {number}. " + "the cat " * 60)
        text = written(loaded, generation)
        assert text.count("<|im_start|>system\nbe kind<|im_end|>") == 1
        kept = [n for n in range(14) if f"question {n}. " in text]
        assert kept == list(range(session.turns_left_out, number + 1))
        # Never half a turn: each question but the last has its answer.
        assert text.count("<|im_start|>assistant\n") == len(kept)
        assert len(generation.prompt) + 40 <= 1024
        left_out.append(session.turns_left_out)
    assert len(session.messages) == 28, "the chat itself keeps everything"
    steps = [after - before for before, after in itertools.pairwise(left_out)]
    assert all(step >= 0 for step in steps)
    assert 0 < sum(step > 0 for step in steps) <= 6, "several turns leave at once"


def test_after_turns_left_the_next_turn_is_read_alone(load_tiny: LoadTiny) -> None:
    loaded = load_tiny(context=1024, chat_template=CHATML_TEMPLATE)
    session = ChatSession(loaded, SETTINGS)
    before = 0
    reused = []
    for number in range(10):
        generation = ask(session, f"question {number}. " + "the cat " * 60)
        if session.turns_left_out == before and number:
            reused.append(generation.statistics.reused_tokens / len(generation.prompt))
        before = session.turns_left_out
    assert before > 0
    assert min(reused) > 0.3


def test_a_message_too_long_says_by_how_much_and_the_chat_goes_on(load_tiny: LoadTiny) -> None:
    loaded = load_tiny(context=256, chat_template=CHATML_TEMPLATE)
    session = ChatSession(loaded, SETTINGS)
    ask(session, "hello")
    message = "a" * 300
    with pytest.raises(PromptTooLong) as caught:
        session.begin(message)
    excess = int(str(caught.value).removeprefix("The message is ").split()[0])
    with pytest.raises(PromptTooLong, match="is 1 token too long"):
        session.begin(message[: 300 - excess + 1])
    assert session.turns_left_out == 0 and len(session.messages) == 2
    assert ask(session, message[: 300 - excess]).tokens
    assert session.turns_left_out == 1


def test_an_answer_that_fills_the_context_leaves_room_for_the_next(load_tiny: LoadTiny) -> None:
    loaded = load_tiny(context=128, chat_template=CHATML_TEMPLATE)
    session = ChatSession(loaded, ChatSettings())
    assert ask(session, "hello").stopped_by is StoppedBy.CONTEXT
    second = ask(session, "again")
    assert session.turns_left_out == 1
    assert second.stopped_by is StoppedBy.CONTEXT


# Thinking


def test_thinking_is_told_apart_and_left_out_of_the_next_prompt(load_tiny: LoadTiny) -> None:
    loaded = load_tiny(context=1024, chat_template=THINKING_TEMPLATE)
    session = ChatSession(loaded, SETTINGS)
    ask(session, "the cat and the dog " * 10)
    # A random model never ends its thinking, so the answer is put into its mouth.
    session.messages[-1] = Message("assistant", "so it is", session.messages[-1].thinking)
    first = session.messages[1]
    assert first.thinking
    generation = session.begin("and then?")
    parts = list(session.steps(generation))
    assert "".join(part.text for part in parts) == session.answer(generation).text == ""
    thought = "".join(part.thinking for part in parts)
    assert thought == session.answer(generation).thinking
    assert session.written(generation) == f"<think>\n{generation.text}"
    text = written(loaded, generation)
    assert first.thinking not in text
    assert text.endswith(
        "assistant\nso it is<|im_end|>\n<|im_start|>user\nand then?<|im_end|>\n"
        "<|im_start|>assistant\n<think>\n"
    )
    # Up to the place where the thinking was, nothing was read again.
    assert generation.statistics.reused_tokens > 140


def test_a_restored_answer_has_its_thinking_apart(load_tiny: LoadTiny) -> None:
    loaded = load_tiny(context=1024, chat_template=CHATML_TEMPLATE)
    session = ChatSession(loaded, SETTINGS)
    session.restore(
        [
            ("user", "one"),
            ("assistant", "<think>\nlet me see\n</think>\n\nyes"),
            ("user", "never answered"),
            ("user", "two"),
            ("assistant", ""),
        ]
    )
    assert session.messages == [Message("user", "one"), Message("assistant", "yes", "let me see")]


# A chat is opened again


def reopened(loaded: LoadedEngine, turns: list[tuple[str, str]], system: str = "") -> ChatSession:
    session = ChatSession(loaded, replace(SETTINGS, system=system))
    session.restore(turns)
    return session


def turns_of(session: ChatSession) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in session.messages]


@pytest.fixture
def states(tmp_path: Path) -> StateCache:
    return StateCache(tmp_path / "states", 10)


@pytest.mark.parametrize("architecture", [*Architecture])
def test_a_kept_state_is_as_good_as_going_on(
    load_tiny: LoadTiny, states: StateCache, architecture: Architecture
) -> None:
    """The next answer is the one that the chat would have given had it never been left."""
    loaded = load_tiny(architecture, 2048, chat_template=CHATML_TEMPLATE)
    session = ChatSession(
        loaded, replace(SETTINGS, generation=GenerationSettings(max_tokens=40, drafting=False))
    )
    session.restore(REOPENED)
    ask(session, "one <|im_end|> two \U000f0000")
    turns = turns_of(session)
    session.keep_state(states, 7)
    expected = ask(session, "and then?")
    session.close()

    other = load_tiny(architecture, 2048, chat_template=CHATML_TEMPLATE)
    again = reopened(other, turns)
    there = again.resume_state(states, 7)
    assert there > 500
    generation = ask(again, "and then?")
    assert generation.statistics.reused_tokens == there
    assert generation.prompt == expected.prompt
    assert generation.tokens == expected.tokens


@pytest.mark.parametrize("architecture", RECURRENT_ARCHITECTURES)
def test_thinking_left_out_does_not_cost_a_recurrent_model_the_chat(
    load_tiny: LoadTiny, states: StateCache, architecture: Architecture
) -> None:
    """Neither the next turn nor the chat that is opened again is read from its beginning."""
    loaded = load_tiny(architecture, 2048, chat_template=THINKING_TEMPLATE, sequences=2)
    session = reopened(loaded, REOPENED)
    first = ask(session, "one two three")
    session.keep_state(states, 5)
    turns = [*REOPENED, ("user", "one two three"), ("assistant", session.written(first))]
    again = reopened(loaded, turns)
    there = again.resume_state(states, 5)
    second, fresh = ask(session, "and then?"), ask(again, "and then?")
    assert len(first.prompt) - 128 - 16 <= there < len(first.prompt)
    assert second.statistics.reused_tokens == there == fresh.statistics.reused_tokens
    assert second.prompt == fresh.prompt


def test_a_draft_that_was_never_sent_is_not_kept(load_tiny: LoadTiny, states: StateCache) -> None:
    loaded = load_tiny(context=2048, chat_template=CHATML_TEMPLATE)
    session = reopened(loaded, REOPENED)
    ask(session, "hello")
    known = session.context_tokens
    session.read_ahead("a secret that was never sent " * 30, lambda: True)
    assert session.context_tokens > known
    session.keep_state(states, 1)
    kept = states.find(loaded.state_key, 1)
    # The last token of the answer was read as a part of the draft's prompt.
    assert kept is not None and len(kept.tokens) == known + 1
    assert "secret" not in kept.known.text


def test_a_short_chat_is_not_kept(load_tiny: LoadTiny, states: StateCache) -> None:
    loaded = load_tiny(context=2048, chat_template=CHATML_TEMPLATE)
    session = ChatSession(loaded, SETTINGS)
    ask(session, "hello")
    session.keep_state(states, 1)
    assert states.find(loaded.state_key, 1) is None


@pytest.mark.parametrize("change", ["text", "system", "context", "fewer turns"])
@pytest.mark.parametrize("architecture", [Architecture.LLAMA, *RECURRENT_ARCHITECTURES])
def test_a_state_that_no_longer_agrees_is_not_used(
    load_tiny: LoadTiny, states: StateCache, change: str, architecture: Architecture
) -> None:
    loaded = load_tiny(architecture, 2048, chat_template=CHATML_TEMPLATE)
    session = reopened(loaded, REOPENED)
    ask(session, "hello")
    turns = turns_of(session)
    session.keep_state(states, 1)
    session.close()
    if change == "text":
        turns[0] = ("user", "something else")
    elif change == "fewer turns":
        turns = []
    elif change == "context":
        loaded = load_tiny(architecture, 1536, chat_template=CHATML_TEMPLATE)
    again = reopened(loaded, turns, "be kind" if change == "system" else "")
    assert again.resume_state(states, 1) == 0
    assert ask(again, "and then?").statistics.reused_tokens == 0


def test_turns_that_were_left_out_stay_out(load_tiny: LoadTiny, states: StateCache) -> None:
    loaded = load_tiny(context=1024, chat_template=CHATML_TEMPLATE)
    session = ChatSession(loaded, SETTINGS)
    while not session.turns_left_out:
        ask(session, "the cat " * 60)
    session.keep_state(states, 1)
    left_out, turns = session.turns_left_out, turns_of(session)
    session.close()
    again = reopened(loaded, turns)
    there = again.resume_state(states, 1)
    assert there > 256
    assert again.turns_left_out == left_out
    assert ask(again, "more").statistics.reused_tokens == there
