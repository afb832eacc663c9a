"""All chats of the history, for a list of them.

Everything reads or writes the disk: not for the thread of the screen.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from pathlib import Path

from sssd_chat import paths
from sssd_chat.conversation.history import ChatSummary, History, NewTurn, NoSuchTurn, TurnRecord
from sssd_chat.errors import UserError, reason

_FOUND = 50


@dataclass(frozen=True, slots=True)
class ChatEntry:
    """A chat as a list shows it."""

    id: int
    title: str
    updated: float
    """When it was used last; seconds since 1970."""
    turns: int
    """Questions and answers, those of all branches."""
    excerpt: str = ""
    """The text around what was looked for, on one line; empty when nothing was."""
    matches: tuple[tuple[int, int], ...] = ()
    """Beginning and end of each match in the excerpt."""


Entries = list[ChatEntry]


@dataclass(eq=False, slots=True)
class Deletion:
    """Chats that are on no list any more, and can still come back."""

    chats: tuple[int, ...]
    _undo: Callable[[Deletion], None]
    _commit: Callable[[Deletion], None]

    def undo(self) -> None:
        """Lets them be on the list again. Does nothing after `commit`."""
        self._undo(self)

    def commit(self) -> None:
        """Deletes them for real, with everything that was made from them. Does nothing after
        `undo`. Raises UserError when something could not be erased yet."""
        self._commit(self)


@dataclass(slots=True)
class ChatLibrary:
    """The chats of one database. Any thread may use it."""

    path: Path = field(default_factory=paths.history_file)
    _hidden: dict[int, Deletion] = field(default_factory=dict)
    """Chats that are deleted, but not for real yet."""
    _guard: threading.Lock = field(default_factory=threading.Lock)

    # Finding. All of these raise UserError when the database cannot be used.

    def list(self, limit: int | None = None) -> Entries:
        """The chats, those used last first."""
        hidden = set(self._hidden)
        with self._history() as history:
            most = None if limit is None else limit + len(hidden)
            entries = [_entry(chat) for chat in history.chats(most) if chat.id not in hidden]
        return entries[:limit]

    def search(self, text: str, limit: int = _FOUND) -> Entries:
        """The chats with a turn, or a title, that holds all words of `text`; see
        `History.search`."""
        hidden = set(self._hidden)
        with self._history() as history:
            hits = [h for h in history.search(text, limit + len(hidden)) if h.chat not in hidden]
            return [
                replace(_entry(history.chat(hit.chat)), excerpt=hit.excerpt, matches=hit.matches)
                for hit in hits[:limit]
            ]

    def export(self, chat: int, form: str) -> str:
        """The chat as a text in one of the formats of `exchange.exporting.FORMATS`. Raises
        NoSuchChat."""
        from sssd_chat.conversation.exchange.exporting import exported

        with self._history() as history:
            return "".join(exported(history, [chat], form))

    # Changing

    def rename(self, chat: int, title: str) -> str:
        """Gives a chat another title and returns it, made harmless and cut to one line. Raises
        NoSuchChat, and UserError for an empty one."""
        with self._history() as history:
            if not title.strip():
                raise UserError("A chat cannot go without a title.")
            history.rename(chat, title)
            return history.chat(chat).title

    def fork(self, chat: int, turn: int | None = None) -> int:
        """Makes a chat of its own of the branch that a chat goes on with, or of the turns up to
        `turn`, and returns its number. Raises NoSuchChat and NoSuchTurn."""
        made: list[int] = []
        with self._history() as history:
            old = history.chat(chat)
            turns = history.branch(chat) if turn is None else _up_to(turn, history.records(chat))

            def copy() -> None:
                new = history.add_chat("", old.system, title=old.title)
                history.set_parameters(new, old.parameters)
                parent: int | None = None
                for each in turns:
                    parent = history.insert(new, parent, _copied(each), is_counted=False)
                made.append(new)

            history.transaction(copy)
        return made[-1]

    def delete(self, chats: Iterable[int]) -> Deletion:
        """Takes chats off the list at once. They are deleted for real by `Deletion.commit`, or by
        `close`; a program that ends before loses nothing."""
        deletion = Deletion(tuple(chats), self._taken, self._commit)
        with self._guard:
            self._hidden.update(dict.fromkeys(deletion.chats, deletion))
        return deletion

    def close(self) -> None:
        """Deletes for real what is off the list. Raises UserError when something of it could not
        be erased yet."""
        problem: UserError | None = None
        for deletion in set(self._hidden.values()):
            try:
                deletion.commit()
            except UserError as error:
                problem = error
        if problem is not None:
            raise problem

    def _commit(self, deletion: Deletion) -> None:
        from sssd_chat.conversation.forgetting import forget_chats

        # Hidden until the end: a list that is made meanwhile must not show them.
        chats = [chat for chat in deletion.chats if self._hidden.get(chat) is deletion]
        try:
            with self._history() as history:
                there = [chat for chat in chats if history.has_chat(chat)]
            if there:
                forget_chats(there)
        finally:
            self._taken(deletion)

    def _taken(self, deletion: Deletion) -> None:
        with self._guard:
            for chat in deletion.chats:
                if self._hidden.get(chat) is deletion:
                    del self._hidden[chat]

    @contextlib.contextmanager
    def _history(self) -> Iterator[History]:
        try:
            with contextlib.closing(History(self.path)) as history:
                yield history
        except (OSError, sqlite3.Error) as error:
            raise UserError(f"{self.path} cannot be used: {reason(error, self.path)}.") from error


def _entry(chat: ChatSummary) -> ChatEntry:
    return ChatEntry(chat.id, chat.title, chat.updated, chat.turns)


def _up_to(turn: int, records: Iterable[TurnRecord]) -> list[TurnRecord]:
    known = {record.id: record for record in records}
    if turn not in known:
        raise NoSuchTurn
    branch: list[TurnRecord] = []
    number: int | None = turn
    while number is not None:
        branch.append(known[number])
        number = known[number].parent
    return branch[::-1]


def _copied(turn: TurnRecord) -> NewTurn:
    # An answer that is being written is cut where it is.
    status = "stopped" if turn.status == "streaming" else turn.status
    return NewTurn(
        turn.role,
        turn.text,
        status,
        turn.model,
        turn.tokens,
        turn.fingerprint,
        turn.parameters,
        turn.statistics,
        turn.created,
        turn.updated,
        turn.spans,
    )


@dataclass(frozen=True, slots=True)
class DayGroup:
    """Neighbouring chats of a list."""

    title: str
    """"Today", "Yesterday", "This week", "This month", or a month with its year."""
    chats: tuple[ChatEntry, ...]


def by_day(chats: Sequence[ChatEntry], now: float) -> list[DayGroup]:
    """A list of chats, those used last first, in groups by the day (local time) of their last
    use."""
    today = datetime.fromtimestamp(now).date()
    groups: dict[str, list[ChatEntry]] = {}
    for chat in chats:
        day = datetime.fromtimestamp(chat.updated).date()
        groups.setdefault(_title_of(day, today), []).append(chat)
    return [DayGroup(title, tuple(each)) for title, each in groups.items()]


def _title_of(day: date, today: date) -> str:
    if day >= today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    if day >= today - timedelta(days=today.weekday()):
        return "This week"
    if (day.year, day.month) == (today.year, today.month):
        return "This month"
    return f"{day:%B %Y}"
