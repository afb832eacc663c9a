"""The user's own editor for what stands in the prompt. No widgets."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from sssd_chat.errors import UserError, reason

_VARIABLES = ("VISUAL", "EDITOR")


def editor_command() -> list[str]:
    """The program with its options. Raises UserError when none is set."""
    for name in _VARIABLES:
        words = os.environ.get(name, "").strip()
        if words:
            try:
                return shlex.split(words, posix=os.name != "nt")
            except ValueError as error:
                raise UserError(f"${name} cannot be understood ({words}): {error}.") from error
    raise UserError("No editor is set; put its name into the variable EDITOR or VISUAL.")


def edited(text: str, run: Callable[[list[str]], int] = subprocess.call) -> str:
    """`text` after the user changed it in the editor, which `run` waits for. The file that holds it
    meanwhile can be read by its owner alone and is removed in any case. Raises UserError when the
    editor cannot be started or fails; the text is to stay as it was then."""
    command = editor_command()
    with tempfile.TemporaryDirectory(prefix="sssd-chat-") as folder:
        file = Path(folder) / "question.md"
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as writer:
            writer.write(text.encode("utf-8", "replace").decode("utf-8"))
        try:
            code = run([*command, str(file)])
        except OSError as error:
            why = reason(error, command[0])
            raise UserError(f"The editor {command[0]} cannot be started: {why}.") from error
        if code:
            raise UserError(f"The editor {command[0]} ended with {code}; the text stays as it was.")
        try:
            changed = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"What the editor left cannot be read: {error}.") from error
    return changed.removesuffix("\n")
