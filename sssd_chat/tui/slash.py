"""What is typed into the prompt and is no question but a command."""

from __future__ import annotations

import re

from textual.message import Message

from sssd_chat.tui.messages import AttachWanted, DetachWanted

_COMMAND = re.compile(r"/(attach|detach)(?:[ \t]+(\S.*?))?\s*", re.DOTALL)
_QUOTES = ("'", '"')

COMMANDS = (
    ("/attach PATH", "The document goes along with the next question"),
    ("/detach", "No document does"),
)
"""As the help shows them."""


def command_in(text: str) -> Message | None:
    """The command that a text is; None for a question."""
    found = _COMMAND.fullmatch(text)
    if found is None or (found[2] is not None and "\n" in found[2]):
        return None
    return AttachWanted(typed_path(found[2] or "")) if found[1] == "attach" else DetachWanted()


def typed_path(words: str) -> str:
    """A path that was typed, or that a terminal wrote when a file was dropped on it."""
    words = words.strip()
    if len(words) > 1 and words[0] in _QUOTES and words[-1] == words[0]:
        return words[1:-1]
    return words.replace("\\ ", " ")
