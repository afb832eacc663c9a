"""Our own JSON: all that is known about a chat, so that it comes back as it was."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator

from sssd_chat.conversation.exchange.fields import Record, entries, is_record, record, text
from sssd_chat.conversation.exchange.portable import Damaged, PortableChat, PortableTurn

FORMAT = "sssd-chat"
VERSION = 1
_ROLES = ("user", "assistant")
_STATUSES = ("done", "streaming", "stopped", "failed")


def recognizes(value: object) -> bool:
    """Whether this is one chat of an export."""
    return is_record(value, "format", "turns") and record(value, "")["format"] == FORMAT


def written(chat: PortableChat) -> Record:
    """A chat as a record. Turns are numbered from 0, so that the same chat always looks the
    same."""
    places = {turn.key: place for place, turn in enumerate(chat.turns)}
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": chat.title,
        "system": chat.system,
        "created": chat.created,
        "updated": chat.updated,
        "parameters": _embedded(chat.parameters),
        "current": None if chat.leaf is None else places[chat.leaf],
        "turns": [
            {
                "parent": None if turn.parent is None else places[turn.parent],
                "role": turn.role,
                "text": turn.text,
                "status": turn.status,
                "model": turn.model,
                "created": turn.created,
                "updated": turn.updated,
                "fingerprint": turn.fingerprint,
                "parameters": _embedded(turn.parameters),
                "statistics": _embedded(turn.statistics),
                "tokens": None if turn.tokens is None else turn.tokens.tolist(),
            }
            for turn in chat.turns
        ],
    }


def read(value: Record) -> PortableChat:
    """The chat. Raises Damaged."""
    if value.get("version") != VERSION:
        raise Damaged(f"its version is {value.get('version')!r}, this program reads {VERSION}")
    listed = entries(value["turns"], "turns")
    turns = tuple(_turns(listed))
    current = value.get("current")
    if current is not None and not _is_place(current, len(turns)):
        raise Damaged("its current turn does not exist")
    return PortableChat(
        turns,
        title=text(value.get("title"), "title"),
        system=text(value.get("system"), "system"),
        created=_time(value.get("created"), "created"),
        updated=_time(value.get("updated"), "updated"),
        leaf=current,
        parameters=_detached(value.get("parameters", "")),
    )


def _turns(listed: list[object]) -> Iterator[PortableTurn]:
    for place, each in enumerate(listed):
        what = f"turn {place}"
        turn = record(each, what)
        parent = turn.get("parent")
        if parent is not None and not _is_place(parent, place):
            raise Damaged(f"{what} follows a turn that does not come before it")
        if turn.get("role") not in _ROLES or turn.get("status") not in _STATUSES:
            raise Damaged(f"{what} has an unknown role or status")
        yield PortableTurn(
            place,
            parent,
            turn["role"],
            text(turn.get("text"), f"the text of {what}"),
            status=turn["status"],
            model=text(turn.get("model"), f"the model of {what}"),
            tokens=_tokens(turn.get("tokens"), what),
            fingerprint=text(turn.get("fingerprint"), f"the fingerprint of {what}"),
            parameters=_detached(turn.get("parameters")),
            statistics=_detached(turn.get("statistics")),
            created=_time(turn.get("created"), f"the time of {what}"),
            updated=_time(turn.get("updated"), f"the time of {what}"),
        )


def _is_place(value: object, count: int) -> bool:
    return type(value) is int and 0 <= value < count


def _tokens(value: object, what: str) -> array[int] | None:
    if value is None:
        return None
    try:
        return array("i", entries(value, f"the tokens of {what}"))
    except (TypeError, OverflowError) as error:
        raise Damaged(f"the tokens of {what} are not numbers of 32 bits") from error


def _time(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Damaged(f"{what} is no time")
    return float(value)


def _embedded(particulars: str) -> object:
    """JSON within the JSON, where it can be taken out again as it was."""
    try:
        value = json.loads(particulars)
    except ValueError:
        return particulars
    is_same = isinstance(value, dict) and json.dumps(value) == particulars
    return value if is_same else particulars


def _detached(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
