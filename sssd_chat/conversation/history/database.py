"""The chats of one database: adding, changing, deleting."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from sssd_chat.conversation.history.encoding import packed, restored, storable, title_of
from sssd_chat.conversation.history.erasing import erase, is_erasing_due, note_deletion
from sssd_chat.conversation.history.figures import put_figures
from sssd_chat.conversation.history.opening import open_database, transaction
from sssd_chat.conversation.history.origins import CHATS, Origins
from sssd_chat.conversation.history.reader import NEW_PROMPT, HistoryReader
from sssd_chat.conversation.history.search_index import SearchIndex
from sssd_chat.conversation.history.turns import NewTurn, NoSuchChat, NoSuchTurn, TurnRecord

_SILENT_SECONDS = 60.0
"""An answer being written is written again each second; after this time its program has ended."""


class History(HistoryReader):
    """The database. Used from one thread at a time; other processes may use it too."""

    def __init__(self, path: Path) -> None:
        """Opens or makes the database, readable by its owner alone. Raises UserError when it is
        damaged or newer than this program, OSError or sqlite3.Error when the disk refuses."""
        self._path = path
        connection = open_database(path)
        super().__init__(connection, SearchIndex(connection))
        self._origins = Origins(connection)
        try:
            if self._index.needs_rebuild():
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

    def insert(
        self, chat: int, parent: int | None, turn: NewTurn, *, is_counted: bool = True
    ) -> int:
        """Adds a turn with all that is known about it and leaves the chat as it is otherwise;
        returns its number. A copy of another turn is not to be counted in the figures."""
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
        self._origins.put(number, turn.spans)
        if is_counted:
            put_figures(self._connection, number, created, turn.statistics)
        return number

    def update_turn(
        self,
        turn: int,
        text: str,
        tokens: Sequence[int],
        status: str,
        parameters: str = "",
        statistics: str = "",
        spans: str = "",
    ) -> bool:
        """Replaces the text, the exact token ids, the status and the particulars of a turn. False
        when there is no such turn any more."""
        before = self._connection.execute(
            "SELECT text, status, created FROM turns WHERE id = ?", (turn,)
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
        self._origins.put(turn, spans)
        put_figures(self._connection, turn, before[2], statistics)
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

    # Changing and deleting

    def set_leaf(self, chat: int, leaf: int | None) -> None:
        """The chat goes on after this turn, until one is added; None for the newest."""
        self._connection.execute("UPDATE chats SET leaf = ? WHERE id = ?", (leaf, chat))

    def rename(self, chat: int, title: str) -> None:
        """Gives a chat another title, made harmless and cut to one line. Raises NoSuchChat."""
        changed = self._connection.execute(
            "UPDATE chats SET title = ? WHERE id = ?", (title_of(title), chat)
        )
        if not changed.rowcount:
            raise NoSuchChat(chat)

    def set_system(self, chat: int, system: str) -> None:
        """Gives a chat another system prompt."""
        self._connection.execute(
            "UPDATE chats SET system = ? WHERE id = ?", (storable(system), chat)
        )

    def set_parameters(self, chat: int, parameters: str) -> None:
        """How the answers of a chat are to be written (a JSON object)."""
        self._connection.execute("UPDATE chats SET parameters = ? WHERE id = ?", (parameters, chat))

    def set_prompt(self, chat: int | None, prompt: str) -> None:
        """Keeps what stands in the prompt of a chat; None for the chat that is not begun."""
        if chat is not None:
            self._connection.execute(
                "UPDATE chats SET prompt = ? WHERE id = ?", (storable(prompt), chat)
            )
        elif prompt:
            self._connection.execute(
                "INSERT OR REPLACE INTO facts VALUES (?, ?)", (NEW_PROMPT, storable(prompt))
            )
        else:
            self._connection.execute("DELETE FROM facts WHERE name = ?", (NEW_PROMPT,))

    def delete_turns(self, chat: int, turns: Sequence[int]) -> list[int]:
        """Deletes turns with all that follow them, and returns their numbers; `finish_deleting`
        takes them off the disk. The chat goes on after the branch that was the current one, if that
        is still there, or else beside the first one of the turns, or before it. Raises NoSuchTurn,
        and then nothing is deleted."""
        deleted: set[int] = set()

        def delete() -> None:
            parents = self._parents(chat)
            if not parents.keys() >= set(turns):
                raise NoSuchTurn
            leaf = self._leaf_among(chat, parents)
            deleted.update(*(_below(turn, parents) for turn in turns))
            self._drop([record for record in self.records(chat) if record.id in deleted])
            self._origins.forget_documents(CHATS, [f"{chat}/{number}" for number in deleted])
            if leaf in deleted:
                parent = parents[turns[0]]
                beside = self.children(chat, parent)
                nearest = max(
                    (t for t in beside if t < turns[0]), default=min(beside, default=None)
                )
                leaf = parent if nearest is None else _below(nearest, parents)[-1]
            self.set_leaf(chat, leaf)
            note_deletion(self._connection)

        self.transaction(delete)
        return sorted(deleted)

    def forget_sources(self, collection: str, documents: Iterable[str] | None = None) -> None:
        """Takes out of all answers what was drafted from documents of a collection, or from all of
        it, and takes it off the disk. Raises UserError when that is not possible yet."""

        def forget() -> None:
            if (
                self._origins.forget_collection(collection)
                if documents is None
                else self._origins.forget_documents(collection, documents)
            ):
                note_deletion(self._connection)

        self.transaction(forget)
        self.finish_deleting()

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
            self.set_prompt(None, "")
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
        self._drop(self.records(chat))
        self._origins.forget_chat(chat)
        self._connection.execute("DELETE FROM chats WHERE id = ?", (chat,))

    def _drop(self, records: Iterable[TurnRecord]) -> None:
        # Those that follow another one first: nothing may follow what is not there.
        for record in sorted(records, key=lambda record: record.id, reverse=True):
            if record.status != "streaming":
                self._index.remove(record.id, record.text)
            self._connection.execute("DELETE FROM turns WHERE id = ?", (record.id,))


def _below(turn: int, parents: dict[int, int | None]) -> list[int]:
    """The turn and all that follow it, in the order of their numbers."""
    found: dict[int, None] = {}
    for number in sorted(parents):
        if number == turn or parents[number] in found:
            found[number] = None
    return list(found)
