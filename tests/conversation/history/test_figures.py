"""Sums over all answers: each answer counts once."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.conversation.history import History, NewTurn
from sssd_chat.conversation.history.figures import Figures, figures_of, start_of, week_of
from sssd_chat.conversation.history.particulars import statistics_of
from sssd_chat.generation.statistics import AnswerStatistics


def statistics(tokens: int, seconds: float, plain: float | None) -> str:
    return statistics_of(
        AnswerStatistics(emitted=tokens, decode_seconds=seconds, plain_seconds=plain), None
    )


@given(st.floats(0, 4e9))
def test_a_week_begins_on_the_monday_before(seconds: float) -> None:
    start = datetime.fromtimestamp(start_of(week_of(seconds)), UTC)
    assert start.weekday() == 0 and (start.hour, start.minute, start.second) == (0, 0, 0)
    assert 0 <= seconds - start_of(week_of(seconds)) < 7 * 24 * 3600


def test_what_is_not_known_is_not_counted() -> None:
    assert figures_of("") is figures_of("{}") is figures_of("[]") is figures_of("{") is None
    assert figures_of(statistics(0, 1.0, 2.0)) is None
    assert figures_of(statistics(3, 1.0, None)) == Figures(1, 3)


def test_an_answer_counts_once_however_often_it_is_written(tmp_path: Path) -> None:
    with contextlib.closing(History(tmp_path / "history.db")) as history:
        chat = history.add_chat("hello", "")
        answer = history.add_turn(chat, None, "assistant", "", "streaming", "tiny")
        for tokens in (3, 5, 9):
            history.update_turn(answer, "a", [1], "streaming", "", statistics(tokens, 1.0, 3.0))
        history.update_turn(answer, "a", [1], "done", "", statistics(10, 2.0, 6.0))
        history.insert(chat, None, NewTurn("assistant", "b", statistics=statistics(2, 1.0, None)))
        copy = NewTurn("assistant", "a", statistics=statistics(10, 2.0, 6.0))
        history.insert(chat, None, copy, is_counted=False)
        assert list(history.figures_by_week().values()) == [Figures(2, 12, 2.0, 6.0)]
        history.delete_turns(chat, [answer])
        assert list(history.figures_by_week().values()) == [Figures(1, 2)]
        history.delete_chats([chat])
        assert history.figures_by_week() == {}


def test_weeks_are_apart_and_in_order(tmp_path: Path) -> None:
    with contextlib.closing(History(tmp_path / "history.db")) as history:
        chat = history.add_chat("hello", "")
        for week in (5, 3, 5):
            written = start_of(week) + 1000
            turn = NewTurn("assistant", "a", created=written, statistics=statistics(4, 1.0, 2.0))
            history.insert(chat, None, turn)
        assert history.figures_by_week() == {3: Figures(1, 4, 1.0, 2.0), 5: Figures(2, 8, 2.0, 4.0)}
