"""Chats out of the history, as text in one of several formats."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from sssd_chat.conversation.exchange import markdown, own, sharegpt
from sssd_chat.conversation.exchange.portable import PortableChat, PortableTurn
from sssd_chat.conversation.history import History

FORMATS = ("md", "json", "sharegpt")

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def portable_chat(history: History, chat: int) -> PortableChat:
    """A chat of the history with all its branches. Raises NoSuchChat."""
    summary = history.chat(chat)
    turns = tuple(
        PortableTurn(
            record.id,
            record.parent,
            record.role,
            record.text,
            record.status,
            record.model,
            record.tokens,
            record.fingerprint,
            record.parameters,
            record.statistics,
            record.created,
            record.updated,
        )
        for record in history.records(chat)
    )
    return PortableChat(
        turns,
        summary.title,
        summary.system,
        summary.created,
        summary.updated,
        history.chosen_leaf(chat),
        summary.parameters,
    )


def exported(history: History, chats: Iterable[int], form: str) -> Iterator[str]:
    """The text of a file of chats, in pieces that fit into UTF-8. `form` is one of `FORMATS`; md
    and sharegpt hold the current branch of each chat. Raises NoSuchChat."""
    if form == "md":
        for place, chat in enumerate(chats):
            document = _written(history, chat, form)
            yield ("\n" if place else "") + _LONE_SURROGATE.sub("\ufffd", document)
        return
    yield "["
    for place, chat in enumerate(chats):
        yield (",\n" if place else "\n") + _written(history, chat, form)
    yield "\n]\n"


def _written(history: History, chat: int, form: str) -> str:
    portable = portable_chat(history, chat)
    if form == "json":
        return as_json(own.written(portable))
    branch = _branch(portable, history.leaf(chat))
    if form == "sharegpt":
        return as_json(sharegpt.written(portable, chat, branch))
    return markdown.written(portable, branch)


def _branch(chat: PortableChat, leaf: int | None) -> list[PortableTurn]:
    turns = {turn.key: turn for turn in chat.turns}
    branch: list[PortableTurn] = []
    key = leaf if leaf in turns else None
    while key is not None:
        branch.append(turns[key])
        key = turns[key].parent  # type: ignore[assignment]
    return branch[::-1]


def as_json(value: object) -> str:
    """JSON that people of any script can read, and that fits into UTF-8."""
    # Lone surrogates occur within strings alone, where an escape says the same.
    plain = json.dumps(value, ensure_ascii=False)
    return _LONE_SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", plain)
