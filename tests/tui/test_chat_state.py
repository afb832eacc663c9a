"""The state behind the panel."""

from __future__ import annotations

import dataclasses

import pytest

from sssd_chat.conversation.events import (
    AnswerDone,
    AnswerFailed,
    AnswerStatistics,
    AnswerStep,
    ChatOpened,
    ContextFilled,
    CostCurve,
    Drafting,
    Lifetime,
    LifetimeChanged,
    ModelFailed,
    ModelLoading,
    ModelReady,
    PromptRead,
    StepStatistics,
    StoppedBy,
    TitleChanged,
)
from sssd_chat.generation.statistics import Count
from sssd_chat.tui.chat_state import ChatState, Phase
from tests.tui.fake_backend import MODEL


def ready() -> ChatState:
    state = ChatState()
    state.apply(ModelReady(MODEL))
    return state


def write(state: ChatState, answer: AnswerStatistics, step: StepStatistics) -> None:
    answer.add(step)
    state.apply(AnswerStep("", step, answer.copy()))


def sourced(state: ChatState, **accepted: int) -> None:
    answer = AnswerStatistics()
    answer.by_source = {name: Count(9, 9, count) for name, count in accepted.items()}
    state.apply(AnswerStep("text", StepStatistics(), answer))


def test_the_starter_collections_share_one_bar() -> None:
    state = ChatState()
    sourced(state, conversation=2, **{"starter/code": 1, "chats": 4, "starter/english": 1})
    assert state.shares_by_source() == [("conversation", 0.25), ("chats", 0.5), ("starter", 0.25)]


def test_sources_keep_their_order_however_they_come_up() -> None:
    state = ChatState()
    sourced(state, starter=1)
    sourced(state, papers=1, chats=1, letters=1)
    sourced(state, **{"runner-ups": 1, "conversation": 0})
    assert state.source_names == [
        "conversation",
        "chats",
        "letters",
        "papers",
        "runner-ups",
        "starter",
    ]


def test_speed_now_is_that_of_the_last_steps_of_this_answer_and_then_of_the_whole() -> None:
    state = ready()
    for seconds in (1.0, 0.1):
        state.asked()
        answer = AnswerStatistics()
        write(state, answer, StepStatistics(emitted=1))
        assert state.speed_now is None, "the first token comes out of the prompt"
        for _ in range(4):
            write(state, answer, StepStatistics(emitted=2, decode_seconds=seconds))
        assert state.speed_now == pytest.approx(2 / seconds), "older answers do not count"
        for _ in range(8):
            write(state, answer, StepStatistics(emitted=3, decode_seconds=seconds))
        assert state.speed_now == pytest.approx(3 / seconds)
        state.apply(AnswerDone("", StoppedBy.END, answer))
        assert state.speed_now == pytest.approx(32 / (12 * seconds))


def test_acceptance_is_unknown_until_something_was_tested() -> None:
    state = ready()
    answer = AnswerStatistics()
    write(state, answer, StepStatistics(emitted=1))
    write(state, answer, StepStatistics(emitted=3, draft_size=6, tested=4, accepted=2))
    write(state, answer, StepStatistics(emitted=1, draft_size=2, tested=1, accepted=0))
    assert list(state.acceptance_of_steps) == [None, 0.5, 0.4]


def test_the_parts_of_the_time_sum_to_the_whole() -> None:
    state = ready()
    assert set(state.time_by_part.values()) == {None}
    step = StepStatistics(
        emitted=2, draft_seconds=1, decode_seconds=5, sampling_seconds=2, other_seconds=2
    )
    write(state, AnswerStatistics(), step)
    assert state.time_by_part == {"draft": 0.1, "verify": 0.5, "sampling": 0.2, "other": 0.2}


def test_the_batch_is_the_draft_and_its_root() -> None:
    state = ready()
    assert state.batch_size is None
    state.apply(CostCurve((1, 2, 4), (10.0, 12.0, 15.0), 2))
    assert state.batch_size == 2
    write(state, AnswerStatistics(), StepStatistics(emitted=1, draft_size=3))
    assert state.batch_size == 4


def test_another_model_has_other_costs_and_the_chat_goes_on() -> None:
    state = ready()
    state.apply(ChatOpened(3, "Title"))
    state.apply(CostCurve((1,), (10.0,), 1))
    state.apply(LifetimeChanged(Lifetime(5)))
    state.apply(ModelLoading(0.0))
    assert (state.phase, state.model, state.cost) == (Phase.LOADING, None, None)
    assert (state.chat, state.title) == (3, "Title")
    state.asked()
    state.apply(ModelLoading(0.5))
    assert state.phase is Phase.WAITING
    state.apply(ModelReady(dataclasses.replace(MODEL, name="Other")))
    assert state.phase is Phase.READING
    assert state.lifetime == Lifetime(5)


def test_a_model_that_failed_can_be_followed_by_another() -> None:
    state = ChatState()
    state.apply(ModelFailed("broken"))
    state.apply(ModelLoading(0.1))
    assert state.phase is Phase.LOADING
    state.apply(ModelReady(MODEL))
    assert state.phase is Phase.READY


def test_opening_another_chat_leaves_no_numbers_behind() -> None:
    state = ready()
    state.apply(ChatOpened(1, "One"))
    write(state, AnswerStatistics(), StepStatistics(emitted=2, context_tokens=50))
    state.apply(AnswerFailed("no"))
    state.apply(ChatOpened(2, "Two"))
    assert state.answer is None and not state.tokens_of_steps and state.context_tokens == 0
    state.apply(TitleChanged(2, "Three"))
    assert (state.chat, state.title) == (2, "Three")


def test_a_branch_of_the_same_chat_is_asked_without_the_phase_going_astray() -> None:
    state = ready()
    state.apply(ChatOpened(1, "One"))
    write(state, AnswerStatistics(), StepStatistics(emitted=2))
    state.apply(AnswerDone("", StoppedBy.END, AnswerStatistics()))
    state.asked()
    state.apply(ChatOpened(1, "One"))
    assert state.phase is Phase.READING


@pytest.mark.parametrize(
    ("tokens", "stopped_by", "full"),
    [(100, StoppedBy.END, False), (8150, StoppedBy.END, True), (100, StoppedBy.CONTEXT, True)],
)
def test_the_context_is_full(tokens: int, stopped_by: StoppedBy, full: bool) -> None:
    state = ready()
    assert not state.context_is_full
    state.apply(AnswerDone("", stopped_by, AnswerStatistics()))
    state.apply(ContextFilled(tokens))
    assert state.context_is_full == full
    state.asked()
    state.apply(PromptRead(10, 100, 0))
    assert not state.context_is_full


def test_drafts_that_a_model_cannot_have_stay_off() -> None:
    state = ChatState()
    state.apply(ModelReady(dataclasses.replace(MODEL, drafting=Drafting.IMPOSSIBLE)))
    write(state, AnswerStatistics(), StepStatistics(emitted=1, drafting=Drafting.IMPOSSIBLE))
    assert state.drafting is Drafting.IMPOSSIBLE
