"""The chats of one database: adding, reading, searching, deleting."""

from __future__ import annotations

import sqlite3
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from sssd_chat.conversation.history.encoding import packed, restored, storable, title_of, unpacked
from sssd_chat.conversation.history.erasing import erase, is_erasing_due, note_deletion
from sssd_chat.conversation.history.opening import open_database, transaction
from sssd_chat.conversation.history.search import Search, terms_of
from sssd_chat.conversation.history.search_index import SearchIndex
from sssd_chat.conversation.history.turns import (
    ChatSummary,
    NewTurn,
    NoSuchChat,
    SearchHit,
    StoredAnswer,
    StoredTurn,
    TurnRecord,
)

_SILENT_SECONDS = 60.0
"""An answer being written is written again each second; after this time its program has ended."""
_PAGE = 64
_SUMMARY = (
    "SELECT id, title, created, updated,"
    " (SELECT count(*) FROM turns WHERE chat = chats.id), system FROM chats"
)
_RECORD = (
    "SELECT id, parent, role, text, status, model, tokens, fingerprint, parameters, statistics,"
    " created, updated FROM turns"
)


class History:
    """The database. Used from one thread at a time; other processes may use it too."""

    def __init__(self, path: Path) -> None:
        """Opens or makes the database, readable by its owner alone. Raises UserError when it is
        damaged or newer than this program, OSError or sqlite3.Error when the disk refuses."""
        self._path = path
        self._connection = open_database(path)
        try:
            self._index = SearchIndex(self._connection)
            if self._index.available and not self._index.is_ready():
                with transaction(self._connection):
                    self._index.rebuild()
            self._mark_cut_off()
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Closes the database."""
        self._connection.close()

    def transaction(self, work: Callable[[], None]) -> None:
        """Runs `work` so that all of it is kept, or nothing."""
        with transaction(self._connection):
            self._index.mark()
            work()

    # Adding. What belongs together goes into one transaction.

    def add_chat(
        self,
        question: str,
        system: str,
        *,
        title: str | None = None,
        created: float | None = None,
        updated: float | None = None,
        origin: str | None = None,
    ) -> int:
        """Begins a chat and returns its number. It is named after its first question unless a
        title is given. `origin` says what it was imported from; there is one chat of an origin at
        most. Times are seconds since 1970, now if not given."""
        now = time.time() if created is None else created
        name = title_of(question if title is None else title)
        cursor = self._connection.execute(
            "INSERT INTO chats (created, updated, title, system, origin) VALUES (?, ?, ?, ?, ?)",
            (now, now if updated is None else updated, name, storable(system), origin),
        )
        return int(cursor.lastrowid or 0)

    def add_turn(
        self,
        chat: int,
        parent: int | None,
        role: str,
        text: str,
        status: str,
        model: str,
        fingerprint: str = "",
    ) -> int:
        """Adds a turn after `parent` (None: at the beginning) as a further branch if others follow
        it already, and makes it the branch that goes on; returns its number."""
        turn = NewTurn(role, text, status, model, fingerprint=fingerprint)
        number = self.insert(chat, parent, turn)
        self._connection.execute(
            "UPDATE chats SET leaf = NULL, updated = ? WHERE id = ?", (time.time(), chat)
        )
        return number

    def insert(self, chat: int, parent: int | None, turn: NewTurn) -> int:
        """Adds a turn with all that is known about it and leaves the chat as it is otherwise;
        returns its number."""
        created = time.time() if turn.created is None else turn.created
        cursor = self._connection.execute(
            "INSERT INTO turns (chat, parent, role, status, model, fingerprint, created, updated,"
            " parameters, statistics, text, tokens) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                chat,
                parent,
                turn.role,
                turn.status,
                turn.model,
                turn.fingerprint,
                created,
                created if turn.updated is None else turn.updated,
                turn.parameters,
                turn.statistics,
                storable(turn.text),
                packed(turn.tokens),
            ),
        )
        number = int(cursor.lastrowid or 0)
        if turn.status != "streaming":
            self._index.add(number, turn.text)
        return number

    def update_turn(
        self,
        turn: int,
        text: str,
        tokens: Sequence[int],
        status: str,
        parameters: str = "",
        statistics: str = "",
    ) -> bool:
        """Replaces the text, the exact token ids, the status and the particulars of a turn. False
        when there is no such turn any more."""
        before = self._connection.execute(
            "SELECT text, status FROM turns WHERE id = ?", (turn,)
        ).fetchone()
        if before is None:
            return False
        now = time.time()
        self._connection.execute(
            "UPDATE turns SET text = ?, tokens = ?, status = ?, parameters = ?, statistics = ?,"
            " updated = ? WHERE id = ?",
            (
                storable(text),
                packed(array("i", tokens)),
                status,
                parameters,
                statistics,
                now,
                turn,
            ),
        )
        if before[1] != "streaming":
            self._index.remove(turn, restored(before[0]))
        if status != "streaming":
            self._index.add(turn, text)
            self._connection.execute(
                "UPDATE chats SET updated = ? WHERE id = (SELECT chat FROM turns WHERE id = ?)",
                (now, turn),
            )
        return True

    def _mark_cut_off(self) -> None:
        """Answers whose program ended in the middle of them are failed ones from now on."""
        find = "SELECT id, text FROM turns WHERE status = 'streaming' AND updated < ?"
        before = time.time() - _SILENT_SECONDS
        if self._connection.execute(find, (before,)).fetchone() is None:
            return
        with transaction(self._connection):
            self._index.mark()
            for turn, text in self._connection.execute(find, (before,)).fetchall():
                self._connection.execute("UPDATE turns SET status = 'failed' WHERE id = ?", (turn,))
                self._index.add(turn, restored(text))

    # Reading

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
        turn = self._leaf(chat, parents)
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

    # Branches

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

    def choose_branch(self, chat: int, turn: int) -> None:
        """The chat goes on with the newest branch that `turn` is part of, until a turn is added
        elsewhere."""
        parents = self._parents(chat)
        leaf = max((t for t in parents if _is_below(t, turn, parents)), default=None)
        self._connection.execute("UPDATE chats SET leaf = ? WHERE id = ?", (leaf, chat))

    def leaf(self, chat: int) -> int | None:
        """The last turn of the current branch; None for a chat without turns."""
        return self._leaf(chat, self._parents(chat))

    def _parents(self, chat: int) -> dict[int, int | None]:
        return dict(
            self._connection.execute("SELECT id, parent FROM turns WHERE chat = ?", (chat,))
        )

    def _leaf(self, chat: int, parents: dict[int, int | None]) -> int | None:
        row = self._connection.execute("SELECT leaf FROM chats WHERE id = ?", (chat,)).fetchone()
        if row is not None and row[0] in parents:
            return int(row[0])
        return max(parents, default=None)

    def _record(self, turn: int) -> TurnRecord | None:
        row = self._connection.execute(f"{_RECORD} WHERE id = ?", (turn,)).fetchone()
        return None if row is None else _turn_record(row)

    # Changing and deleting

    def rename(self, chat: int, title: str) -> None:
        """Gives a chat another title, made harmless and cut to one line. Raises NoSuchChat."""
        changed = self._connection.execute(
            "UPDATE chats SET title = ? WHERE id = ?", (title_of(title), chat)
        )
        if not changed.rowcount:
            raise NoSuchChat(chat)

    def chat_of_origin(self, origin: str) -> int | None:
        """The chat that was imported from there, if it is still kept."""
        row = self._connection.execute(
            "SELECT id FROM chats WHERE origin = ?", (origin,)
        ).fetchone()
        return None if row is None else int(row[0])

    def delete_chat(self, chat: int) -> None:
        """Deletes a chat for real; see `delete_chats`."""
        self.delete_chats([chat])

    def delete_chats(self, chats: Iterable[int]) -> None:
        """Deletes chats for real: when this returns, no file in the folder of the database holds
        their text or tokens any more, copies made by a change of the schema included.

        Raises NoSuchChat, and then nothing is deleted; UserError when the chats are deleted but
        their text could not be taken off the disk yet."""

        def delete() -> None:
            for chat in dict.fromkeys(chats):
                self._delete(chat)
            note_deletion(self._connection)

        self.transaction(delete)
        self.finish_deleting()

    def delete_everything(self) -> None:
        """Deletes all chats for real; see `delete_chats`."""

        def delete() -> None:
            self._index.clear()
            self._connection.execute("DELETE FROM turns")
            self._connection.execute("DELETE FROM chats")
            note_deletion(self._connection)

        self.transaction(delete)
        self.finish_deleting()

    def finish_deleting(self) -> None:
        """Takes what was deleted off the disk, if that is still due. Raises UserError."""
        if is_erasing_due(self._connection):
            erase(self._connection, self._index, self._path)

    def _delete(self, chat: int) -> None:
        if not self.has_chat(chat):
            raise NoSuchChat(chat)
        for record in self.records(chat):
            if record.status != "streaming":
                self._index.remove(record.id, record.text)
        self._connection.execute("DELETE FROM turns WHERE chat = ?", (chat,))
        self._connection.execute("DELETE FROM chats WHERE id = ?", (chat,))


def _summary(row: tuple[int, str, float, float, int, str | bytes]) -> ChatSummary:
    return ChatSummary(*row[:5], restored(row[5]))


def _turn_record(row: sqlite3.Row) -> TurnRecord:
    turn, parent, role, text, status, model, tokens, *rest = row
    return TurnRecord(turn, parent, role, restored(text), status, model, unpacked(tokens), *rest)


def _is_below(turn: int | None, ancestor: int, parents: dict[int, int | None]) -> bool:
    while turn is not None and turn != ancestor:
        turn = parents.get(turn)
    return turn is not None
