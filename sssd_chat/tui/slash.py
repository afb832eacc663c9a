"""What is typed into the prompt and is no question but a command."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sssd_chat.tui.actions import ALL_ACTIONS, Action

_COMMAND = re.compile(r"(/[a-z]+)(?:[ \t]+(\S.*?))?\s*", re.DOTALL)
TEXT = "TEXT"
"""The argument of commands that may be of several lines."""
_QUOTES = ("'", '"')

COMMANDS: Mapping[str, Action] = {
    action.command: action
    for action in sorted(ALL_ACTIONS, key=lambda action: action.command)
    if action.slash
}
"""By what is typed for them, in alphabetical order."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A text that is a command, or looks like one."""

    command: str
    """With its slash."""
    argument: str

    @property
    def action(self) -> Action | None:
        """What it stands for; None when there is no such command."""
        return COMMANDS.get(self.command)


def command_in(text: str) -> Typed | None:
    """The command that a text is, also when it is not known; None for a question.

    A text of several lines is a question, unless the command takes such a text; and so is one whose
    first word has a second slash, or that begins with a space."""
    found = _COMMAND.fullmatch(text)
    if found is None:
        return None
    typed = Typed(found[1], found[2] or "")
    if "\n" in typed.argument and not (typed.action and typed.action.argument == TEXT):
        return None
    return typed


def typed_path(words: str) -> str:
    """A path that was typed, or that a terminal wrote when a file was dropped on it."""
    words = words.strip()
    if len(words) > 1 and words[0] in _QUOTES and words[-1] == words[0]:
        return words[1:-1]
    return words.replace("\\ ", " ")
