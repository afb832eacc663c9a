"""Branches, answers that go on, and what is told of answers, by the engine thread."""

from __future__ import annotations

import contextlib
import time
from itertools import pairwise
from pathlib import Path

import pytest

from sssd_chat import paths
from sssd_chat.conversation.events import (
    AnswerDone,
    AnswerFailed,
    AnswerParameters,
    AnswerStep,
    ChatOpened,
    CostCurve,
    LifetimeChanged,
    ModelReady,
    Notice,
    PromptRead,
    QuestionKept,
    StoppedBy,
    TitleChanged,
    VerifyDone,
    VerifyRunning,
)
from sssd_chat.conversation.history import History
from sssd_chat.datastore.document import Document
from sssd_chat.datastore.store import Datastore
from sssd_chat.generation.cost import StepCost
from sssd_chat.generation.guard import DraftGuard
from tests.conversation.engine_thread.screen import Screen, Start
from tests.tiny_models import Architecture


def ask(screen: Screen, text: str) -> AnswerDone:
    screen.backend.send(text)
    return screen.get(AnswerDone)


def texts(opened: ChatOpened) -> list[str]:
    return [turn.text for turn in opened.turns]


def number(done: AnswerDone) -> int:
    assert done.turn is not None
    return done.turn


def test_questions_and_answers_have_numbers_and_places(start: Start) -> None:
    screen = start()
    assert screen.get(ChatOpened) == ChatOpened(None)
    first = ask(screen, "hello")
    (kept,), (title,) = screen.of(QuestionKept), screen.of(TitleChanged)
    assert (kept.position, kept.siblings, title.title) == (0, 1, "hello")
    assert (first.position, first.siblings) == (0, 1)
    screen.backend.ask_instead(kept.turn, "good day")
    opened, branch = screen.get(ChatOpened), screen.get(QuestionKept)
    assert (opened.chat, opened.turns) == (title.chat, ())
    assert (branch.position, branch.siblings) == (1, 2)
    second = screen.get(AnswerDone)
    screen.backend.regenerate(number(second))
    assert texts(screen.get(ChatOpened)) == ["good day"]
    third = screen.get(AnswerDone)
    assert (third.position, third.siblings) == (1, 2)
    assert third.text == second.text
    assert third.answer.reused_tokens == third.answer.prompt_tokens - 1
    screen.backend.choose_sibling(branch.turn, -1)
    assert texts(screen.get(ChatOpened)) == ["hello", first.text]


def test_parameters_for_one_answer_and_for_a_chat(start: Start) -> None:
    screen = start()
    done = ask(screen, "hello")
    assert (done.answer.emitted, done.parameters.max_tokens) == (30, 30)
    screen.backend.regenerate(number(done), AnswerParameters(max_tokens=4, temperature=0.5))
    again = screen.get(AnswerDone)
    assert (again.answer.emitted, again.parameters.temperature) == (4, 0.5)
    wanted = AnswerParameters(max_tokens=7, seed=3)
    screen.backend.set_parameters(wanted)
    screen.backend.set_system("be kind")
    more = ask(screen, "more")
    assert (more.answer.emitted, more.parameters.seed) == (7, 3)
    screen.backend.close()
    opened = start(resume=True).get(ChatOpened)
    assert (opened.system, opened.parameters) == ("be kind", wanted)
    assert [turn.parameters.max_tokens for turn in opened.turns] == [None, 4, None, 7]
    assert [turn.siblings for turn in opened.turns] == [1, 2, 1, 1]


def test_an_answer_goes_on(start: Start) -> None:
    screen = start(max_tokens=10)
    first = ask(screen, "hello")
    assert first.stopped_by is StoppedBy.LENGTH
    screen.seen.clear()
    screen.backend.continue_answer(number(first))
    whole = screen.get(AnswerDone)
    assert whole.turn == first.turn
    assert whole.text == first.text + "".join(step.text for step in screen.of(AnswerStep))
    assert (first.answer.emitted, whole.answer.emitted) == (10, 20)
    assert screen.of(PromptRead)[0].reused == first.answer.prompt_tokens + 9
    once, twice = (event.lifetime for event in (screen.get(LifetimeChanged), after(screen)))
    assert (once.answers, once.tokens, twice.answers, twice.tokens) == (1, 20, 2, 30)
    screen.backend.close()
    opened = start(resume=True).get(ChatOpened)
    assert opened.turns[1].text == whole.text
    assert opened.turns[1].statistics == whole.answer


def after(screen: Screen) -> LifetimeChanged:
    ask(screen, "more")
    return screen.get(LifetimeChanged)


def test_only_the_last_answer_goes_on(start: Start) -> None:
    screen = start()
    first = ask(screen, "hello")
    ask(screen, "more")
    kept = screen.of(QuestionKept)[0]
    for turn in (number(first), kept.turn, 12345):
        screen.backend.continue_answer(turn)
        assert screen.get(AnswerFailed).turn is None
    screen.backend.ask_instead(number(first), "no question")
    assert "not there any more" in screen.get(AnswerFailed).message


def test_another_answer_that_was_stopped_at_once_leaves_the_old_one(start: Start) -> None:
    screen = start(context=4096)
    first = ask(screen, "word " * 500)
    # Another system prompt, so that the prompt has to be read.
    screen.backend.set_system("be kind")
    screen.backend.regenerate(number(first))
    assert len(screen.get(ChatOpened).turns) == 1
    screen.backend.cancel()
    done = screen.get(AnswerDone)
    if done.turn is None:
        assert texts(screen.get(ChatOpened))[1] == first.text


def test_a_question_after_a_new_chat_waits_for_the_old_answer_to_stop(start: Start) -> None:
    screen = start(max_tokens=None, context=4096)
    screen.backend.send("hello")
    screen.wait_for(AnswerStep)
    screen.backend.new_chat()
    screen.backend.send("in the new chat")
    assert screen.get(AnswerDone).stopped_by is StoppedBy.CANCELLED
    assert screen.get(ChatOpened).turns == ()
    assert screen.get(TitleChanged).title == "in the new chat"
    screen.backend.cancel()
    screen.get(AnswerDone)


def test_what_steps_cost_is_told(start: Start) -> None:
    screen = start()
    screen.wait_for(ModelReady)
    curve = screen.get(CostCurve)
    assert len(curve.sizes) == len(curve.milliseconds) > 1
    assert list(curve.sizes) == sorted(curve.sizes) and min(curve.milliseconds) > 0


# Where drafted words came from


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drafts pay, however busy the machine is."""
    monkeypatch.setattr(DraftGuard, "observe", lambda *_: None)
    monkeypatch.setattr(StepCost, "seconds", lambda self, _: [0.01] * (self.largest + 1))
    monkeypatch.setattr(StepCost, "floor", lambda *_: 0.0)


@pytest.mark.usefixtures("steady")
def test_spans_name_their_source_and_outlive_the_program(start: Start) -> None:
    screen = start(learns=True, max_tokens=60)
    screen.wait_for(ModelReady)
    first = ask(screen, "the cat and the dog")
    until = time.monotonic() + 10
    spans: list = []
    while not spans and time.monotonic() < until:
        # The first answer is in the datastore a moment later.
        screen.backend.new_chat()
        screen.seen.clear()
        done = ask(screen, "the cat and the dog")
        spans = [span for span in done.spans if span.source == "chats"]
    assert spans, "nothing was drafted from the first chat"
    assert done.text == first.text
    assert {span.title for span in spans} == {"the cat and the dog"}
    assert (spans[0].chat, spans[0].turn) == (1, first.turn)
    assert all(a.end <= b.start for a, b in pairwise(done.spans))
    live = {s.start: s for step in screen.of(AnswerStep) for s in step.spans}
    assert covered(live.values()) == covered(done.spans)
    screen.backend.close()
    opened = start(resume=True).get(ChatOpened)
    assert opened.turns[1].spans == done.spans


def covered(spans: object) -> set[int]:
    return {n for span in spans for n in range(span.start, span.end)}  # type: ignore[attr-defined]


# Verifying


def test_the_last_answer_can_be_verified(start: Start) -> None:
    screen = start(learns=False)
    screen.wait_for(ModelReady)
    screen.backend.verify()
    assert "no answer" in screen.get(VerifyDone).summary
    first = ask(screen, "the cat and the dog")
    screen.backend.verify()
    done = screen.get(VerifyDone)
    assert done.ok and "30 tokens" in done.summary
    assert screen.of(VerifyRunning)[-1] == VerifyRunning(60, 60)
    # The conversation is still in the cache.
    more = ask(screen, "more")
    assert more.answer.reused_tokens >= first.answer.prompt_tokens + 29


def test_verifying_can_be_stopped_and_gives_way_to_a_question(start: Start) -> None:
    screen = start(max_tokens=800, context=4096)
    ask(screen, "the cat")
    for stop in (screen.backend.cancel, lambda: screen.backend.send("more")):
        screen.backend.verify()
        screen.wait_for(VerifyRunning)
        stop()
        assert screen.get(VerifyDone).summary == "Stopped before the end."
    screen.backend.cancel()
    screen.get(AnswerDone)


def test_a_model_without_drafts_is_identical(start: Start) -> None:
    screen = start(architecture=Architecture.MAMBA)
    ask(screen, "the cat")
    screen.backend.verify()
    assert screen.get(VerifyDone).ok


# The datastore


def test_an_answer_that_went_on_is_learned_whole(start: Start) -> None:
    screen = start(learns=True, max_tokens=10)
    first = ask(screen, "hello")
    screen.backend.continue_answer(number(first))
    whole = screen.get(AnswerDone)
    screen.backend.close()
    (folder,) = paths.datastore_folder().iterdir()
    with contextlib.closing(Datastore(folder)) as store:
        documents: list[Document] = list(store.documents("chats"))
    assert [(d.label.key, len(d.tokens)) for d in documents] == [(f"1/{whole.turn}", 20)]
    with contextlib.closing(History(paths.history_file())) as history:
        assert history.branch(1)[1].tokens is not None
        assert len(history.branch(1)[1].tokens or ()) == 20


def test_a_full_disk_costs_nothing_but_the_keeping(
    start: Start, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    screen = start()
    first = ask(screen, "hello")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(History, "transaction", refuse)
        second = ask(screen, "more")
        assert second.turn is not None and second.turn < 0
        assert "No space left" in screen.of(Notice)[0].message
        screen.backend.regenerate(second.turn)
        assert screen.get(AnswerDone).siblings == 2
    third = ask(screen, "and more")
    assert third.turn is not None and third.turn > 0
    assert third.answer.reused_tokens > second.answer.prompt_tokens
    screen.backend.close()
    opened = start(resume=True).get(ChatOpened)
    assert texts(opened) == ["hello", first.text, "and more", third.text]
