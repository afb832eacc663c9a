"""The chats of one database: finding and reading them."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator

from sssd_chat.conversation.history.encoding import restored, unpacked
from sssd_chat.conversation.history.figures import Figures, figures_by_week
from sssd_chat.conversation.history.opening import snapshot
from sssd_chat.conversation.history.search import Search, terms_of
from sssd_chat.conversation.history.search_index import SearchIndex
from sssd_chat.conversation.history.turns import (
    ChatSummary,
    NoSuchChat,
    SearchHit,
    StoredAnswer,
    StoredTurn,
    TurnRecord,
)

NEW_PROMPT = "prompt"
"""The fact that holds what stands in the prompt while no chat is begun."""

_PAGE = 64
_SUMMARY = (
    "SELECT id, title, created, updated,"
    " (SELECT count(*) FROM turns WHERE chat = chats.id), system, parameters FROM chats"
)
_RECORD = (
    "SELECT id, parent, role, text, status, model, tokens, fingerprint, parameters, statistics,"
    " created, updated, coalesce((SELECT spans FROM spans WHERE turn = turns.id), '') FROM turns"
)


class HistoryReader:
    """What can be asked of the database."""

    def __init__(self, connection: sqlite3.Connection, index: SearchIndex) -> None:
        self._connection = connection
        self._index = index

    def has_chat(self, chat: int) -> bool:
        """Whether there is a chat with the number."""
        found = self._connection.execute("SELECT 1 FROM chats WHERE id = ?", (chat,)).fetchone()
        return found is not None

    def last_chat(self) -> int | None:
        """The chat that was used last, None when there is none."""
        row = self._connection.execute(
            "SELECT id FROM chats ORDER BY updated DESC, id DESC LIMIT 1"
        ).fetchone()
        return None if row is None else int(row[0])

    def chat_of_origin(self, origin: str) -> int | None:
        """The chat that was imported from there, if it is still kept."""
        row = self._connection.execute(
            "SELECT id FROM chats WHERE origin = ?", (origin,)
        ).fetchone()
        return None if row is None else int(row[0])

    def chat(self, chat: int) -> ChatSummary:
        """One chat. Raises NoSuchChat."""
        row = self._connection.execute(f"{_SUMMARY} WHERE id = ?", (chat,)).fetchone()
        if row is None:
            raise NoSuchChat(chat)
        return _summary(row)

    def chats(self, limit: int | None = None) -> list[ChatSummary]:
        """The chats, those used last first; all of them without a limit."""
        rows = self._connection.execute(
            f"{_SUMMARY} ORDER BY updated DESC, id DESC LIMIT ?", (-1 if limit is None else limit,)
        )
        return [_summary(row) for row in rows]

    def search(self, query: str, limit: int = 20) -> list[SearchHit]:
        """The chats with a turn that holds all words of `query`, or a title that does, in small or
        capital letters; what stands "in quotes" is looked for whole. Those used last come first,
        at most `limit`. In any script, from one character on."""
        with snapshot(self._connection):
            return Search(self._connection, self._index, terms_of(query), limit).run()

    def turns(self, chat: int) -> list[tuple[int, StoredTurn]]:
        """The turns of a chat along its current branch, oldest first, with their numbers: the
        branch chosen last, or else the newest."""
        return [
            (record.id, StoredTurn(record.role, record.text, record.status, record.model))
            for record in self.branch(chat)
        ]

    def branch(self, chat: int) -> list[TurnRecord]:
        """The turns of `turns` with all that is known about them."""
        parents = self._parents(chat)
        branch: list[TurnRecord] = []
        turn = self._leaf_among(chat, parents)
        while turn is not None:
            record = self._record(turn)
            if record is None:
                break
            branch.append(record)
            turn = record.parent
        return branch[::-1]

    def records(self, chat: int) -> Iterator[TurnRecord]:
        """All turns of a chat, those of every branch, oldest first."""
        rows = self._connection.execute(f"{_RECORD} WHERE chat = ? ORDER BY id", (chat,))
        return map(_turn_record, rows)

    def answers(self, after: int = 0) -> Iterator[StoredAnswer]:
        """All answers that are done or were stopped, in the order of their numbers, from the first
        one above `after`. Reads some at a time, so it holds up nobody."""
        while True:
            rows = self._connection.execute(
                "SELECT turns.id, chat, text, tokens, fingerprint, turns.created, title"
                " FROM turns CROSS JOIN chats ON chats.id = turns.chat"
                " WHERE turns.id > ? AND role = 'assistant' AND status IN ('done', 'stopped')"
                " ORDER BY turns.id LIMIT ?",
                (after, _PAGE),
            ).fetchall()
            for turn, chat, text, tokens, fingerprint, created, title in rows:
                yield StoredAnswer(
                    turn, chat, restored(text), unpacked(tokens), fingerprint, created, title
                )
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]

    def answer_ids(self) -> list[tuple[int, int]]:
        """(turn, chat) of all answers that `answers` gives, without reading them."""
        return sorted(
            self._connection.execute(
                "SELECT id, chat FROM turns INDEXED BY finished_answers"
                " WHERE role = 'assistant' AND status IN ('done', 'stopped')"
            )
        )

    def children(self, chat: int, turn: int | None) -> list[int]:
        """The turns that follow `turn` (None: those at the beginning), oldest first."""
        return [
            row[0]
            for row in self._connection.execute(
                "SELECT id FROM turns WHERE chat = ? AND parent IS ? ORDER BY id", (chat, turn)
            )
        ]

    def siblings(self, turn: int) -> list[int]:
        """The turns that follow the same one as `turn`, itself included, oldest first."""
        row = self._connection.execute(
            "SELECT chat, parent FROM turns WHERE id = ?", (turn,)
        ).fetchone()
        return [] if row is None else self.children(*row)

    def has_turns(self, turns: Collection[int]) -> bool:
        """Whether all of the turns are there."""
        find = "SELECT 1 FROM turns WHERE id = ?"
        return all(self._connection.execute(find, (turn,)).fetchone() for turn in turns)

    def changes_by_others(self) -> int:
        """A number that is another one when something else than this connection has written."""
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    def prompt(self, chat: int | None) -> str:
        """What stood in the prompt when the chat was left; None for the chat that is not begun."""
        if chat is None:
            row = self._connection.execute(
                "SELECT value FROM facts WHERE name = ?", (NEW_PROMPT,)
            ).fetchone()
        else:
            row = self._connection.execute(
                "SELECT prompt FROM chats WHERE id = ?", (chat,)
            ).fetchone()
        return "" if row is None else restored(row[0])

    def figures_by_week(self) -> dict[int, Figures]:
        """What the answers of each week cost and gained, by the number of the week."""
        return figures_by_week(self._connection)

    def leaf(self, chat: int) -> int | None:
        """The last turn of the current branch; None for a chat without turns."""
        return self._leaf_among(chat, self._parents(chat))

    def _parents(self, chat: int) -> dict[int, int | None]:
        return dict(
            self._connection.execute("SELECT id, parent FROM turns WHERE chat = ?", (chat,))
        )

    def chosen_leaf(self, chat: int) -> int | None:
        """The last turn of the branch that was chosen; None while the newest goes on."""
        row = self._connection.execute("SELECT leaf FROM chats WHERE id = ?", (chat,)).fetchone()
        return None if row is None else row[0]

    def _leaf_among(self, chat: int, parents: dict[int, int | None]) -> int | None:
        chosen = self.chosen_leaf(chat)
        return chosen if chosen in parents else max(parents, default=None)

    def _record(self, turn: int) -> TurnRecord | None:
        row = self._connection.execute(f"{_RECORD} WHERE id = ?", (turn,)).fetchone()
        return None if row is None else _turn_record(row)


def _summary(row: tuple[int, str, float, float, int, str | bytes, str]) -> ChatSummary:
    return ChatSummary(*row[:5], restored(row[5]), row[6])


def _turn_record(row: sqlite3.Row) -> TurnRecord:
    turn, parent, role, text, status, model, tokens, *rest = row
    return TurnRecord(turn, parent, role, restored(text), status, model, unpacked(tokens), *rest)
