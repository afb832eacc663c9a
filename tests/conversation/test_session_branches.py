"""Branches of a chat, and answers that go on, with tiny models in the real llama.cpp: each is what
a chat that never had another branch would give."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest

from sssd_chat.conversation.history.origins import StoredSpan
from sssd_chat.conversation.session import ChatSession, ChatSettings
from sssd_chat.conversation.templates import Message
from sssd_chat.generation.cost import StepCost
from sssd_chat.generation.engine import Generation, GenerationSettings
from sssd_chat.generation.guard import DraftGuard
from sssd_chat.generation.loading import LoadedEngine
from sssd_chat.generation.statistics import StoppedBy
from sssd_chat.llama.sampler import SamplerSettings
from tests.conftest import LoadTiny
from tests.tiny_models import CHATML_TEMPLATE, Architecture

SETTINGS = ChatSettings(generation=GenerationSettings(max_tokens=24))
THINKING = CHATML_TEMPLATE.replace("assistant\n{% endif %}", "assistant\n<think>\n{% endif %}")
ARCHITECTURES = [Architecture.LLAMA, Architecture.GEMMA3, Architecture.MAMBA]


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> Callable[[LoadedEngine], None]:
    """Lets drafts pay, however busy the machine is."""
    monkeypatch.setattr(DraftGuard, "observe", lambda *_: None)

    def prepare(loaded: LoadedEngine) -> None:
        cost = StepCost(129)
        for size in (1, 16, 129):
            cost.observe(size, 100, 0.01 + 0.0001 * size)
        loaded.engine.cost = loaded.engine.writer.cost = cost
        monkeypatch.setattr(StepCost, "observe", lambda *_: None)

    return prepare


def ask(session: ChatSession, question: str, written: str = "") -> Generation:
    generation = session.begin(question, written=written)
    for _ in session.steps(generation):
        pass
    session.finish(question, generation)
    return generation


def fresh_answers(loaded: LoadedEngine, *questions: str) -> list[str]:
    """What a chat answers that is asked nothing but this."""
    session = ChatSession(loaded, SETTINGS)
    answers = [ask(session, question).text for question in questions]
    session.close()
    return answers


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_each_branch_is_a_chat_of_its_own(load_tiny: LoadTiny, architecture: Architecture) -> None:
    loaded = load_tiny(architecture, 1024, chat_template=CHATML_TEMPLATE, sequences=2)
    session = ChatSession(loaded, SETTINGS)
    first = ask(session, "the cat")
    trunk = list(session.messages)
    left = ask(session, "and the dog")
    left_branch = list(session.messages)
    session.follow(trunk)
    right = ask(session, "or the bird")
    assert right.statistics.reused_tokens >= (
        len(first.prompt) + len(first.tokens) - 1 if loaded.target.can_rewind else 0
    )
    assert [first.text, right.text] == fresh_answers(loaded, "the cat", "or the bird")
    session.follow(left_branch)
    after = ask(session, "what else")
    assert [first.text, left.text, after.text] == fresh_answers(
        loaded, "the cat", "and the dog", "what else"
    )


def test_another_answer_reads_nothing_again(load_tiny: LoadTiny) -> None:
    loaded = load_tiny(context=1024, chat_template=CHATML_TEMPLATE)
    session = ChatSession(loaded, SETTINGS)
    before = ask(session, "the cat")
    session.follow([])
    again = ask(session, "the cat")
    # The last token is read for its logits.
    assert again.statistics.reused_tokens == len(before.prompt) - 1
    assert again.tokens == before.tokens
    assert len(session.messages) == 2


@pytest.mark.parametrize("penalty", [1.0, 1.4])
@pytest.mark.parametrize("template", [CHATML_TEMPLATE, THINKING])
def test_an_answer_goes_on_as_if_it_had_not_ended(
    load_tiny: LoadTiny, template: str, penalty: float
) -> None:
    loaded = load_tiny(context=1024, chat_template=template, sequences=2)
    sampler = SamplerSettings(repeat_penalty=penalty)
    whole_session = ChatSession(
        loaded, replace(SETTINGS, generation=GenerationSettings(sampler, max_tokens=48))
    )
    whole = ask(whole_session, "the cat")
    session = ChatSession(
        loaded, replace(SETTINGS, generation=GenerationSettings(sampler, max_tokens=24))
    )
    begun = ask(session, "the cat")
    written = session.written(begun)
    session.follow([])
    generation = session.begin("the cat", written=written)
    known = len(begun.prompt) + len(begun.tokens)
    assert generation.statistics.reused_tokens == known - 1
    parts = list(session.steps(generation))
    session.finish("the cat", generation)
    assert session.tokens(generation) == whole.tokens
    assert session.written(generation) == whole_session.written(whole)
    assert session.answer(generation) == whole_session.answer(whole)
    assert sum(len(part.tokens) for part in parts) == 24
    assert session.messages == whole_session.messages
    if template == CHATML_TEMPLATE:
        # The next question knows all of it; thinking is not shown again.
        more = ask(session, "more")
        assert more.statistics.reused_tokens == known + len(generation.tokens) - 1


def test_an_answer_goes_on_in_a_chat_that_was_opened_again(load_tiny: LoadTiny) -> None:
    loaded = load_tiny(context=1024, chat_template=CHATML_TEMPLATE)
    session = ChatSession(loaded, SETTINGS)
    session.follow([Message("user", "one"), Message("assistant", "two")])
    generation = ask(session, "three", written="a cat sat")
    assert session.written(generation) == f"a cat sat{generation.text}"
    assert session.messages[-1].content == session.written(generation)
    prompt = loaded.model.vocabulary.detokenize(generation.prompt, special=True)
    assert prompt.endswith(b"assistant\na cat sat")


def test_what_is_taken_out_is_in_no_prompt_and_no_draft(load_tiny: LoadTiny) -> None:
    loaded = load_tiny(context=1024, chat_template=CHATML_TEMPLATE)
    session = ChatSession(loaded, SETTINGS)
    first = ask(session, "the cat and the dog")
    ask(session, "a secret that nobody knows")
    session.follow(session.messages[:2])
    session.forget_rest()
    shared = len(first.prompt) + len(first.tokens) - 1
    assert shared <= session.context_tokens <= shared + 8
    assert len(session._conversation.drafter.draft(20)) == 0
    assert "secret" not in session._prompts.known.text
    again = ask(session, "and now")
    assert again.statistics.reused_tokens >= shared
    assert [first.text, again.text] == fresh_after(loaded, session)


def fresh_after(loaded: LoadedEngine, session: ChatSession) -> list[str]:
    session.close()
    return fresh_answers(loaded, "the cat and the dog", "and now")


def test_a_conversation_makes_room_for_a_moment(load_tiny: LoadTiny) -> None:
    loaded = load_tiny(context=1024, chat_template=CHATML_TEMPLATE)
    session = ChatSession(loaded, SETTINGS)
    ask(session, "the cat")
    tokens = session.context_tokens
    with session.aside():
        other = ChatSession(loaded, SETTINGS)
        ask(other, "something else entirely")
        other.close()
    assert session.context_tokens == tokens
    more = ask(session, "and the dog")
    assert more.statistics.reused_tokens == tokens
    session.close()
    assert fresh_answers(loaded, "the cat", "and the dog")[1] == more.text


# Spans


def covered(text: str, spans: tuple[StoredSpan, ...]) -> str:
    """The text, with what is in no span as dots."""
    shown = ["."] * len(text)
    for span in spans:
        shown[span.start : span.end] = text[span.start : span.end]
    return "".join(shown)


@pytest.mark.parametrize("template", [CHATML_TEMPLATE, THINKING])
def test_spans_are_the_drafted_characters(
    load_tiny: LoadTiny, steady: Callable[[LoadedEngine], None], template: str
) -> None:
    loaded = load_tiny(context=2048, chat_template=template)
    steady(loaded)
    piece = loaded.model.vocabulary.piece
    session = ChatSession(loaded, replace(SETTINGS, generation=GenerationSettings(max_tokens=400)))
    generation = session.begin("the cat and the dog and the cat and the dog")
    live: dict[int, StoredSpan] = {}
    for part in session.steps(generation):
        live.update({span.start: span for span in part.spans})
    assert generation.drafted, "nothing was drafted"
    text = session.answer(generation).text
    spans = session.spans(generation)
    assert all(before.end <= after.start for before, after in itertools.pairwise(spans))
    assert covered(text, tuple(live.values())) == covered(text, spans)
    # By brute force: each byte of what was written, and whether its token was drafted.
    drafted = {token.at for token in generation.drafted}
    shown = ""
    for at in range(len(generation.tokens)):
        before = len(b"".join(map(piece, generation.tokens[:at])).decode("utf-8", "replace"))
        whole = b"".join(map(piece, generation.tokens[: at + 1])).decode("utf-8", "replace")
        shown = shown[:before] + (whole[before:] if at in drafted else "." * (len(whole) - before))
    if "\ufffd" not in shown:
        assert covered(text, spans) == shown[len(shown) - len(text) :]


def test_spans_of_an_answer_that_goes_on_begin_where_it_ended(
    load_tiny: LoadTiny, steady: Callable[[LoadedEngine], None]
) -> None:
    loaded = load_tiny(context=2048, chat_template=CHATML_TEMPLATE)
    steady(loaded)
    settings = replace(SETTINGS, generation=GenerationSettings(max_tokens=150))
    session = ChatSession(loaded, settings)
    begun = ask(session, "the cat and the dog")
    assert begun.stopped_by is StoppedBy.LENGTH
    written = session.written(begun)
    session.follow([])
    generation = ask(session, "the cat and the dog", written=written)
    spans = session.spans(generation)
    assert spans
    assert len(written) <= spans[0].start and spans[-1].end <= len(session.written(generation))
