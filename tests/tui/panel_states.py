"""The states that the panel can be in, by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import cycle

from sssd_chat.conversation.events import (
    AnswerDone,
    AnswerStatistics,
    AnswerStep,
    CostCurve,
    Drafting,
    DraftShape,
    Lifetime,
    LifetimeChanged,
    ModelFailed,
    ModelInfo,
    ModelLoading,
    ModelReady,
    PromptRead,
    StepStatistics,
    StoppedBy,
    TurnsLeftOut,
    WeekSpeed,
)
from sssd_chat.generation.statistics import Count
from sssd_chat.tui.chat_state import ChatState
from tests.tui.fake_backend import MODEL

WEEK = 7 * 24 * 3600.0
MONDAY = 1_759_708_800.0  # 6 October 2025
SPEEDS = (1.12, 1.18, None, 1.31, 1.36, 1.44, 1.41, 1.58, 1.66)
CURVE = CostCurve(
    (1, 2, 3, 4, 6, 8, 12, 16, 32, 64), (75, 106, 135, 117, 176, 214, 274, 271, 480, 784), 4
)
SOURCES = ("conversation", "chats", "runner-ups", "starter/code", "conversation")
MANY = (
    "conversation",
    "chats",
    "papers 日本語の文書",
    "a collection with a long name",
    *(f"collection {number}" for number in range(6)),
)


def ready(model: ModelInfo = MODEL) -> ChatState:
    """A model, and figures of the past."""
    state = ChatState()
    weeks = tuple(WeekSpeed(MONDAY + n * WEEK, 9000, speed) for n, speed in enumerate(SPEEDS))
    state.apply(ModelReady(model))
    state.apply(LifetimeChanged(Lifetime(1_234_567, 11_520.0, 345, weeks)))
    state.apply(CURVE)
    return state


def write(state: ChatState, sources: tuple[str, ...] = SOURCES, context: int = 900) -> ChatState:
    """Forty steps of an answer."""
    state.asked()
    state.apply(PromptRead(812, 812, 640))
    answer = AnswerStatistics()
    names, sizes = cycle(sources), cycle((0, 3, 7, 5, 15, 3, 3))
    for number, size in zip(range(40), sizes, strict=False):
        accepted = min(size, number % 4)
        tested = min(size, accepted + 1)
        context += accepted + 1
        step = StepStatistics(
            emitted=accepted + 1,
            draft_size=size,
            tested=tested,
            accepted=accepted,
            by_source={next(names): Count(size, tested, accepted)} if size else {},
            draft_seconds=0.002,
            decode_seconds=0.05 + 0.004 * size,
            sampling_seconds=0.001,
            other_seconds=0.0005,
            plain_seconds=0.05 * (accepted + 1),
            context_tokens=context,
        )
        answer.add(step)
        state.apply(AnswerStep("", step, answer.copy()))
    return state


def _loading() -> ChatState:
    state = ChatState()
    state.apply(ModelLoading(0.42))
    return state


def _no_model() -> ChatState:
    state = ChatState()
    state.apply(ModelFailed("The file is cut short."))
    return state


def _reading() -> ChatState:
    state = ready()
    state.asked()
    state.apply(PromptRead(512, 2048, 256))
    return state


def _stopped() -> ChatState:
    state = write(ready())
    assert state.answer is not None
    state.apply(AnswerDone("", StoppedBy.CANCELLED, state.answer))
    return state


def _off_by_user() -> ChatState:
    state = write(ready())
    state.drafts_wanted = False
    return state


def _off_by_cost() -> ChatState:
    state = write(ready())
    assert state.answer is not None
    for _ in range(8):
        step = StepStatistics(
            emitted=1,
            decode_seconds=0.05,
            plain_seconds=0.05,
            context_tokens=1100,
            drafting=Drafting.OFF_BY_COST,
        )
        answer = state.answer.copy()
        answer.add(step)
        state.apply(AnswerStep("", step, answer))
    return state


def _impossible() -> ChatState:
    model = dataclasses.replace(MODEL, drafting=Drafting.IMPOSSIBLE, shape=DraftShape.NONE)
    return ready(model)


def _chains() -> ChatState:
    return write(ready(dataclasses.replace(MODEL, shape=DraftShape.CHAINS)))


def _full() -> ChatState:
    state = write(ready(), context=8100)
    state.apply(TurnsLeftOut(3))
    assert state.answer is not None
    state.apply(AnswerDone("", StoppedBy.CONTEXT, state.answer))
    return state


def _unknown() -> ChatState:
    state = ChatState()
    state.apply(ModelReady(MODEL))
    state.asked()
    step = StepStatistics(emitted=1, plain_seconds=None, context_tokens=9)
    answer = AnswerStatistics()
    answer.add(step)
    state.apply(AnswerStep("", step, answer))
    return state


STATES: dict[str, Callable[[], ChatState]] = {
    "loading": _loading,
    "no model": _no_model,
    "reading": _reading,
    "writing": lambda: write(ready()),
    "stopped": _stopped,
    "off by user": _off_by_user,
    "off by cost": _off_by_cost,
    "impossible": _impossible,
    "chains": _chains,
    "context full": _full,
    "unknown": _unknown,
    "many sources": lambda: write(ready(), MANY),
}
