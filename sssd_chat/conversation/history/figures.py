"""What drafts saved, summed up over all answers of the history.

Each answer has a row of a few numbers beside its text, so that the sums take milliseconds for a
hundred thousand answers, and an answer that is written anew is not counted twice.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass

WEEK_SECONDS = 7 * 24 * 3600
_FIRST_MONDAY = 4 * 24 * 3600
"""1970 began on a Thursday."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What answers cost and gained."""

    answers: int = 0
    tokens: int = 0
    seconds: float = 0.0
    """Time taken for the answers whose time of plain decoding is known."""
    plain_seconds: float = 0.0
    """Time of plain decoding for the same answers."""

    def __add__(self, other: Figures) -> Figures:
        return Figures(
            self.answers + other.answers,
            self.tokens + other.tokens,
            self.seconds + other.seconds,
            self.plain_seconds + other.plain_seconds,
        )

    def __sub__(self, other: Figures) -> Figures:
        return Figures(
            self.answers - other.answers,
            self.tokens - other.tokens,
            self.seconds - other.seconds,
            self.plain_seconds - other.plain_seconds,
        )


def week_of(seconds: float) -> int:
    """The number of the week (Monday to Sunday, UTC) of a time in seconds since 1970."""
    return int((seconds - _FIRST_MONDAY) // WEEK_SECONDS)


def start_of(week: int) -> float:
    """When a week begins, in seconds since 1970."""
    return float(week * WEEK_SECONDS + _FIRST_MONDAY)


def figures_of(statistics: str) -> Figures | None:
    """The figures of one answer from its statistics, a JSON object; None when there are none, or
    they are not as this program writes them."""
    try:
        values = json.loads(statistics) if statistics else {}
        tokens = int(values["emitted"])
        plain = values["plain_seconds"]
        names = ("draft_seconds", "decode_seconds", "sampling_seconds", "other_seconds")
        seconds = sum(float(values[name]) for name in names)
        if tokens < 1:
            return None
        if plain is None:
            return Figures(1, tokens)
        return Figures(1, tokens, seconds, float(plain))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None


def put_figures(connection: sqlite3.Connection, turn: int, written: float, statistics: str) -> None:
    """Keeps the figures of an answer that was written at a time, in place of those it had."""
    figures = figures_of(statistics)
    if figures is None:
        return
    connection.execute(
        "INSERT OR REPLACE INTO figures VALUES (?, ?, ?, ?, ?)",
        (turn, week_of(written), figures.tokens, figures.seconds, figures.plain_seconds),
    )


def figures_by_week(connection: sqlite3.Connection) -> dict[int, Figures]:
    """The sums of each week that has an answer, by its number, oldest first."""
    rows = connection.execute(
        "SELECT week, count(*), sum(tokens), sum(seconds), sum(plain_seconds)"
        " FROM figures GROUP BY week ORDER BY week"
    )
    return {week: Figures(*sums) for week, *sums in rows}
