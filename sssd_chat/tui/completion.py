"""What a typed command may go on with. No widgets."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sssd_chat.tui.actions import Completes
from sssd_chat.tui.parameters import PARAMETERS
from sssd_chat.tui.slash import COMMANDS

_LEAST_PART = 2
"""A single letter is in nearly every command."""
_MOST_PATHS = 200
_MOST_LOOKED_AT = 10_000
"""Entries of a folder; more of them are not looked at, so that typing goes on."""
_FORMATS = (("md", "Markdown, this branch"), ("json", "everything, all branches"))


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One way to go on."""

    text: str
    """The whole prompt, once it is taken."""
    label: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class Suggestions:
    """All ways to go on."""

    items: tuple[Suggestion, ...] = ()
    first_is_meant: bool = False
    """Whether Enter takes the first one. Not for the arguments of commands: what stands there may
    be meant as it is."""


def suggestions_for(text: str, models: Callable[[], Sequence[str]]) -> Suggestions:
    """What `text`, which stands in the prompt, may go on with. `models` names the models that may
    be chosen. May wait for a disk, so it belongs into a thread."""
    if not text.startswith("/") or "\n" in text:
        return Suggestions()
    command, space, argument = text.partition(" ")
    if not space:
        return Suggestions(_commands(command), True)
    action = COMMANDS.get(command)
    before = f"{command} "
    match action.completes if action else Completes.NOTHING:
        case Completes.PATH:
            return Suggestions(_paths(before, argument))
        case Completes.MODEL:
            return Suggestions(_models(before, argument, models()))
        case Completes.PARAMETER:
            return Suggestions(_parameters(text))
        case Completes.EXPORT:
            formats = [
                Suggestion(before + name, name, what)
                for name, what in _FORMATS
                if name.startswith(argument) and argument
            ]
            return Suggestions((*formats, *_paths(before, argument)))
        case _:
            return Suggestions()


def _commands(typed: str) -> tuple[Suggestion, ...]:
    """Those that begin with what was typed, then those that hold it."""
    begin = [command for command in COMMANDS if command.startswith(typed)]
    part = typed[1:] if len(typed) > _LEAST_PART else typed
    hold = [command for command in COMMANDS if part in command and command not in begin]
    return tuple(
        Suggestion(
            f"{command} " if COMMANDS[command].argument else command,
            COMMANDS[command].slash,
            COMMANDS[command].title,
        )
        for command in (*begin, *hold)
    )


def _paths(before: str, typed: str) -> tuple[Suggestion, ...]:
    """Files and folders that begin with what was typed; hidden ones only when a dot was typed."""
    typed = typed.lstrip()
    folder, slash, start = typed.rpartition("/")
    place = Path(folder + slash or ".")
    try:
        with os.scandir(place.expanduser()) as entries:
            found = [
                (entry.name, entry.is_dir())
                for _, entry in zip(range(_MOST_LOOKED_AT), entries, strict=False)
                if entry.name.lower().startswith(start.lower())
                and (start.startswith(".") or not entry.name.startswith("."))
                and _can_be_typed(entry.name)
            ]
    except (OSError, RuntimeError, ValueError):
        # No such folder, or a "~user" whose home is not known: nothing to go on with.
        return ()
    found.sort(key=lambda entry: (not entry[1], entry[0].lower()))
    return tuple(
        Suggestion(
            before + folder + slash + name + ("/" if is_folder else ""),
            name + ("/" if is_folder else ""),
        )
        for name, is_folder in found[:_MOST_PATHS]
    )


def _can_be_typed(name: str) -> bool:
    return name.isprintable()


def _models(before: str, typed: str, names: Sequence[str]) -> tuple[Suggestion, ...]:
    wanted = typed.strip().lower()
    return tuple(Suggestion(before + name, name) for name in names if wanted in name.lower())


def _parameters(text: str) -> tuple[Suggestion, ...]:
    """The parameter that the last word begins."""
    rest, _, word = text.rpartition(" ")
    given = {part.partition("=")[0] for part in rest.split()}
    return tuple(
        Suggestion(f"{rest} {parameter.name}=", f"{parameter.name}=", parameter.purpose)
        for parameter in PARAMETERS
        if "=" not in word and parameter.name.startswith(word) and parameter.name not in given
    )
