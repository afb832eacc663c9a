"""Chats into the history, none of them twice."""

from __future__ import annotations

from sssd_chat.conversation.exchange.exporting import portable_chat
from sssd_chat.conversation.exchange.portable import Key, PortableChat
from sssd_chat.conversation.history import History, NewTurn


class Importer:
    """Adds chats to a history."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._by_time: dict[float, list[int]] | None = None

    def add(self, chat: PortableChat) -> int | None:
        """Adds a chat whole, or not at all; returns its number, or None when the history has it
        already. Raises sqlite3.Error when the disk refuses."""
        origin = chat.content_hash()
        added: list[int] = []

        def work() -> None:
            if self._history.chat_of_origin(origin) is None and not self._is_own(chat, origin):
                added.append(self._insert(chat, origin))

        self._history.transaction(work)
        return added[0] if added else None

    def _is_own(self, chat: PortableChat, origin: str) -> bool:
        """Whether the chat was begun here, exported, and is still the same."""
        if self._by_time is None:
            self._by_time = {}
            for own in self._history.chats():
                self._by_time.setdefault(own.created, []).append(own.id)
        candidates = self._by_time.get(chat.created, []) if chat.created is not None else []
        return any(
            self._history.has_chat(own)
            and portable_chat(self._history, own).content_hash() == origin
            for own in candidates
        )

    def _insert(self, chat: PortableChat, origin: str) -> int:
        times = [turn.updated or turn.created for turn in chat.turns]
        last = max((time for time in times if time is not None), default=chat.created)
        number = self._history.add_chat(
            chat.turns[0].text if chat.turns else "",
            chat.system,
            title=chat.title,
            created=chat.created,
            updated=chat.updated if chat.updated is not None else last,
            origin=origin,
        )
        numbers: dict[Key, int] = {}
        for turn in chat.turns:
            parent = None if turn.parent is None else numbers[turn.parent]
            numbers[turn.key] = self._history.insert(
                number,
                parent,
                NewTurn(
                    turn.role,
                    turn.text,
                    turn.status,
                    turn.model,
                    turn.tokens,
                    turn.fingerprint,
                    turn.parameters,
                    turn.statistics,
                    turn.created if turn.created is not None else chat.created,
                    turn.updated,
                ),
            )
        if chat.parameters:
            self._history.set_parameters(number, chat.parameters)
        if chat.leaf is not None:
            self._history.set_leaf(number, numbers[chat.leaf])
        return number
