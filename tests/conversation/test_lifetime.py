"""Sums over answers: in steps they are what the history says at once."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sssd_chat.conversation.history import History, NewTurn
from sssd_chat.conversation.history.figures import start_of
from sssd_chat.conversation.history.particulars import statistics_of
from sssd_chat.conversation.lifetime import LifetimeSums
from sssd_chat.generation.statistics import AnswerStatistics

ANSWERS = st.builds(
    AnswerStatistics,
    emitted=st.integers(0, 50),
    draft_seconds=st.floats(0, 1),
    decode_seconds=st.floats(0, 10),
    plain_seconds=st.one_of(st.none(), st.floats(0, 20)),
)


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 3), ANSWERS), max_size=8))
def test_step_by_step_and_at_once_are_the_same(
    tmp_path_factory: pytest.TempPathFactory, answers: list[tuple[int, AnswerStatistics]]
) -> None:
    path = tmp_path_factory.mktemp("figures") / "history.db"
    sums = LifetimeSums()
    with contextlib.closing(History(path)) as history:
        chat = history.add_chat("hello", "")
        for week, answer in answers:
            sums.add(answer, start_of(week))
            statistics = statistics_of(answer, None)
            turn = NewTurn("assistant", "a", statistics=statistics, created=start_of(week))
            history.insert(chat, None, turn)
        kept = LifetimeSums(history.figures_by_week()).lifetime()
    lifetime = sums.lifetime()
    assert (lifetime.tokens, lifetime.answers) == (kept.tokens, kept.answers)
    assert lifetime.seconds_saved == pytest.approx(kept.seconds_saved)
    assert [(w.start, w.tokens) for w in lifetime.weeks] == [
        (w.start, w.tokens) for w in kept.weeks
    ]


def test_an_answer_that_was_gone_on_with_counts_once() -> None:
    sums = LifetimeSums()
    before = AnswerStatistics(emitted=4, decode_seconds=1.0, plain_seconds=3.0)
    sums.add(before, 0.0)
    after = AnswerStatistics(emitted=10, decode_seconds=2.0, plain_seconds=8.0)
    sums.add(after, 0.0, before)
    lifetime = sums.lifetime()
    assert (lifetime.answers, lifetime.tokens, lifetime.seconds_saved) == (1, 10, 6.0)
    assert [week.speed_up for week in lifetime.weeks] == [4.0]
