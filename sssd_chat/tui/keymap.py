"""Which keys do what, after the user's own choices; what is wrong with these is told."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from textual.keys import Keys, key_to_character

from sssd_chat.tui.actions import ALL_ACTIONS, TYPING, Action, Group

_MODIFIERS = frozenset({"ctrl", "alt", "shift", "super"})
_NAMED = frozenset(key.value for key in Keys if "+" not in key.value and "<" not in key.value)
_SHOWN = {"escape": "esc", "pageup": "pgup", "pagedown": "pgdn", "delete": "del"}
_TOGETHER = (
    frozenset({Group.CHAT, Group.PROMPT}),
    frozenset({Group.LISTS, Group.CHATS}),
    frozenset({Group.LISTS, Group.MODELS}),
    frozenset({Group.LISTS, Group.DATASTORE}),
    frozenset({Group.WINDOW, Group.READING}),
)
"""Groups that are in use at the same time, beside those that are in use everywhere."""


@dataclass(frozen=True, slots=True)
class Keymap:
    """The keys of every action."""

    changed: Mapping[str, str] = field(default_factory=dict)
    """By the name of the action, the keys that the user chose; empty text for no key."""

    def keys(self, action: Action) -> tuple[str, ...]:
        """The keys of an action, the first one being the one to show."""
        return tuple(filter(None, self.changed.get(action.name, action.keys).split(",")))

    def chosen(self, action: Action) -> str | None:
        """What the user chose for it; None when it has its own keys."""
        return self.changed.get(action.name)

    def shown(self, action: Action) -> str:
        """All keys of an action as a reader expects them, e.g. "esc, q"."""
        return ", ".join(map(shown_key, self.keys(action)))


def keymap_of_app(app: object) -> Keymap:
    """The keys that the user of the app chose."""
    keymap = getattr(app, "keymap", None)
    return keymap if isinstance(keymap, Keymap) else Keymap()


def shown_key(key: str) -> str:
    """A key as a reader expects it."""
    *modifiers, last = key.split("+")
    last = typed_by(last).strip() or last
    return "+".join([*modifiers, _SHOWN.get(last, last)])


def typed_by(key: str) -> str:
    """The character that a key types; empty for the keys that type none."""
    character = key_to_character(key) or ""
    return character if character.isprintable() else ""


def keymap_of(changes: Mapping[str, str]) -> tuple[Keymap, list[str]]:
    """The keys after the user's `changes`, and a sentence for each change that does not count."""
    actions = {action.name: action for action in ALL_ACTIONS}
    notices: list[str] = []
    good: dict[str, str] = {}
    for name, keys in changes.items():
        if name not in actions:
            notices.append(f"keys.{name}: there is no action {name}{_suggestion(name, actions)}")
            continue
        wanted = [_normal(key) for key in keys.split(",") if key.strip()]
        problem = next(filter(None, (_problem(key, actions[name]) for key in wanted)), "")
        if problem:
            notices.append(f"keys.{name} is {keys!r}: {problem}; its own key counts.")
        else:
            good[name] = ",".join(wanted)
    for clash in _clashes(Keymap(good)):
        notices.append(clash.sentence)
        good.pop(clash.loser, None)
    return Keymap(good), notices


def _suggestion(name: str, actions: Mapping[str, Action]) -> str:
    near = difflib.get_close_matches(name, actions, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else "; the help (F1) lists them."


def _normal(key: str) -> str:
    """The key as Textual names it."""
    *modifiers, last = key.strip().split("+")
    lower = last if len(last) == 1 else last.lower()
    return "+".join([*(modifier.lower() for modifier in modifiers), lower])


def _problem(key: str, action: Action) -> str:
    """Why the key cannot be one of the action; empty when it can."""
    *modifiers, last = key.split("+")
    is_known = last in _NAMED or typed_by(last)
    if not is_known or not set(modifiers) <= _MODIFIERS:
        return f"there is no key {key}"
    if action.group in TYPING and typed_by(key):
        return f"{key} has to stay free for typing"
    return ""


@dataclass(frozen=True, slots=True)
class _Clash:
    loser: str
    """The changed action that gives way."""
    sentence: str


def _clashes(keymap: Keymap) -> Iterator[_Clash]:
    """The changed actions whose keys another one has that is in use at the same time."""
    lost: set[str] = set()
    for action in ALL_ACTIONS:
        if action.name not in keymap.changed:
            continue
        for other in ALL_ACTIONS:
            if other is action or other.name in lost or not _at_once(action.group, other.group):
                continue
            both = set(keymap.keys(action)) & set(keymap.keys(other))
            if both:
                lost.add(action.name)
                yield _Clash(
                    action.name,
                    f"keys.{action.name}: {shown_key(min(both))} is the key of {other.name} "
                    "already; its own key counts.",
                )
                break


def _at_once(one: Group, other: Group) -> bool:
    pair = {one, other}
    return len(pair) == 1 or Group.EVERYWHERE in pair or any(pair <= both for both in _TOGETHER)
