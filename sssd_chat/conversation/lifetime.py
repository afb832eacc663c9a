"""What drafts saved so far, over all answers."""

from __future__ import annotations

from collections.abc import Mapping

from sssd_chat.conversation.history.figures import Figures, start_of, week_of
from sssd_chat.conversation.shown import Lifetime, WeekSpeed
from sssd_chat.generation.statistics import AnswerStatistics, ratio


def weeks_of(figures: Mapping[int, Figures]) -> tuple[WeekSpeed, ...]:
    """The weeks, oldest first, of figures by the number of the week."""
    return tuple(
        WeekSpeed(start_of(week), each.tokens, ratio(each.plain_seconds, each.seconds))
        for week, each in sorted(figures.items())
        if each.answers
    )


def figures_of_answer(answer: AnswerStatistics) -> Figures:
    """The figures of one answer; all 0 without a token."""
    if not answer.emitted:
        return Figures()
    if answer.plain_seconds is None:
        return Figures(1, answer.emitted)
    return Figures(1, answer.emitted, answer.generation_seconds, answer.plain_seconds)


class LifetimeSums:
    """The sums, kept up to date answer by answer: the history is read once."""

    def __init__(self, weeks: Mapping[int, Figures] | None = None) -> None:
        """`weeks` as the history has them."""
        self._weeks = dict(weeks or {})

    def add(
        self, answer: AnswerStatistics, written: float, before: AnswerStatistics | None = None
    ) -> None:
        """Counts an answer that was begun at `written` (seconds since 1970). One that was gone on
        with replaces what it was `before`."""
        week = week_of(written)
        sums = self._weeks.get(week, Figures()) + figures_of_answer(answer)
        if before is not None:
            sums -= figures_of_answer(before)
        self._weeks[week] = sums

    def lifetime(self) -> Lifetime:
        """The sums over all weeks."""
        total = sum(self._weeks.values(), Figures())
        saved = total.plain_seconds - total.seconds
        return Lifetime(total.tokens, saved, total.answers, weeks_of(self._weeks))
