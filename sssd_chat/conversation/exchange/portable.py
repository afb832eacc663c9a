"""A chat outside of the database, whatever it came from."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace

Key = str | int


class Damaged(Exception):
    """A record is not what its format asks for; the message says why."""


@dataclass(frozen=True, slots=True)
class PortableTurn:
    """One turn. A role other than "user" and "assistant" stands for something that is no turn of
    ours (a tool, a hidden message): what follows it follows the turn before it."""

    key: Key
    """Unlike that of every other turn of the chat."""
    parent: Key | None
    """The key of the turn that it follows; None for the first."""
    role: str
    text: str
    status: str = "done"
    model: str = ""
    tokens: array[int] | None = None
    fingerprint: str = ""
    parameters: str = ""
    statistics: str = ""
    created: float | None = None
    """Seconds since 1970; None when it is not known."""
    updated: float | None = None


@dataclass(frozen=True, slots=True)
class PortableChat:
    """One chat: a tree of turns, each after the one that it follows."""

    turns: tuple[PortableTurn, ...]
    title: str | None = None
    """None for the beginning of the first turn."""
    system: str = ""
    created: float | None = None
    """Seconds since 1970; None when it is not known."""
    updated: float | None = None
    leaf: Key | None = None
    """The last turn of the branch that goes on; None for the newest."""
    parameters: str = ""
    """How its answers are to be written (a JSON object); empty when that is not known."""

    def content_hash(self) -> str:
        """The same for two records of the same chat: taken over what was said, in which order and
        when it began."""
        places = {turn.key: place for place, turn in enumerate(self.turns)}
        said = [
            (turn.role, turn.text, None if turn.parent is None else places[turn.parent])
            for turn in self.turns
        ]
        content = json.dumps([self.system, self.created, said])
        return hashlib.sha256(content.encode()).hexdigest()


def chain(turns: list[PortableTurn]) -> list[PortableTurn]:
    """The turns, each following the one before it."""
    parents = [None, *(turn.key for turn in turns)]
    return [replace(turn, parent=parent) for turn, parent in zip(turns, parents, strict=False)]


def assembled(
    turns: list[PortableTurn],
    *,
    title: str | None = None,
    created: float | None = None,
    updated: float | None = None,
    leaf: Key | None = None,
) -> PortableChat:
    """A chat of turns in any order: parents come first, what is no turn of ours is taken out, the
    first system message becomes the system prompt, and a message in several parts (an answer that
    was interrupted by tools, say) becomes one turn. Raises Damaged."""
    ordered = list(_parents_first(turns))
    system = next((turn.text for turn in ordered if turn.role == "system" and turn.text), "")
    kept, places = _without_others(ordered)
    joined, names = _joined(kept)
    if not joined:
        raise Damaged("it holds no message")
    place = places.get(leaf) if leaf is not None else None
    return PortableChat(
        tuple(joined),
        title=title or None,
        system=system,
        created=created if created is not None else joined[0].created,
        updated=updated,
        leaf=names.get(place) if place is not None else None,
    )


def _parents_first(turns: list[PortableTurn]) -> Iterator[PortableTurn]:
    by_key = {turn.key: turn for turn in turns}
    if len(by_key) != len(turns):
        raise Damaged("two of its messages have the same number")
    children: dict[Key | None, list[PortableTurn]] = {}
    for turn in turns:
        parent = turn.parent if turn.parent in by_key else None
        children.setdefault(parent, []).append(replace(turn, parent=parent))
    waiting = children.get(None, [])[::-1]
    count = 0
    while waiting:
        turn = waiting.pop()
        count += 1
        yield turn
        waiting += children.get(turn.key, [])[::-1]
    if count != len(turns):
        raise Damaged("its messages follow each other in a circle")


def _without_others(
    turns: list[PortableTurn],
) -> tuple[list[PortableTurn], dict[Key, Key | None]]:
    """The turns that are ours, and for every key the turn that stands at its place."""
    kept: list[PortableTurn] = []
    places: dict[Key, Key | None] = {}
    for turn in turns:
        parent = places[turn.parent] if turn.parent is not None else None
        if turn.role in ("user", "assistant") and turn.text:
            kept.append(replace(turn, parent=parent))
            places[turn.key] = turn.key
        else:
            places[turn.key] = parent
    return kept, places


def _joined(turns: list[PortableTurn]) -> tuple[list[PortableTurn], dict[Key, Key]]:
    """The turns with those of one speaker in a row as one, and for every key the turn that it
    became part of. Where branches begin between two of them they stay apart."""
    followers: dict[Key | None, int] = {}
    for turn in turns:
        followers[turn.parent] = followers.get(turn.parent, 0) + 1
    names: dict[Key, Key] = {}
    result: dict[Key, PortableTurn] = {}
    for turn in turns:
        parent = names[turn.parent] if turn.parent is not None else None
        before = result[parent] if parent is not None else None
        if before is not None and before.role == turn.role and followers[turn.parent] == 1:
            text = f"{before.text}\n\n{turn.text}"
            result[before.key] = replace(before, text=text, updated=turn.updated or turn.created)
            names[turn.key] = before.key
        else:
            result[turn.key] = replace(turn, parent=parent)
            names[turn.key] = turn.key
    return list(result.values()), names
