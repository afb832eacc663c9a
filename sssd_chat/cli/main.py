"""The command line: which command is meant, and how errors are told.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted. Stdout is data, stderr is talk.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Sequence

from sssd_chat.errors import UserError, reason

COMMANDS = {
    "ask": "one answer on stdout",
    "serve": "an OpenAI-compatible server for other programs",
    "batch": "many requests from a file, answered into another",
    "chats": "list, search, show, rename, delete, export and import chats",
    "models": "list, describe, fetch, choose and remove model files",
    "doctor": "what this machine can do, and whether something is wrong",
    "tune": "measure how the model runs fastest here, and keep it",
    "config": "show and change the settings",
    "verify": "check that drafts do not change the answer",
    "import": "your own files as something to draft from",
    "datastore": "what drafts come from: list, check, rebuild, forget, audit",
    "bench": "measure drafting, on recordings or live",
}
"""Name and purpose of each command; `sssd_chat.cli.NAME` holds it. Without a command the chat
opens."""

_MODULES = {"import": "import_documents"}
"""Modules whose command is called something that is a word of Python."""

WRONG_USAGE = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words and words[0] and words[0] not in COMMANDS and not words[0].startswith("-"):
        return _no_command(words[0])
    name = words.pop(0) if words and words[0] in COMMANDS else "chat"
    try:
        # Imported by name, so that a command pays for its own imports alone.
        command = importlib.import_module(f"sssd_chat.cli.{_MODULES.get(name, name)}")
        code: int = command.run(words)
    except UserError as error:
        from sssd_chat.text import for_display

        # The name of a file may hold anything, escape sequences too.
        print(f"sssd-chat: {for_display(str(error))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone, and there is nobody to tell. Python would complain once more when
        # it closes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        import logging

        from sssd_chat import paths
        from sssd_chat.logs import start_logging

        start_logging()
        logging.getLogger(__name__).exception("sssd-chat %s failed", name)
        told = "something went wrong inside the program"
        if isinstance(error, OSError):
            # Mostly it is the disk and no mistake of the program.
            told = f"the system refused: {reason(error)}"
        print(f"sssd-chat: {told}; {paths.log_file()} has the details.", file=sys.stderr)
        return 1
    return code


def _no_command(word: str) -> int:
    """Says that there is no such command, and which one may be meant."""
    import difflib

    from sssd_chat.text import one_line

    near = difflib.get_close_matches(word, COMMANDS, 1)
    meant = f"did you mean {near[0]}?" if near else "`sssd-chat --help` lists those there are."
    print(f"sssd-chat: There is no command {one_line(word)}; {meant}", file=sys.stderr)
    return WRONG_USAGE


def run() -> None:
    """Entry point of the `sssd-chat` script."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A locale without some character is no reason to lose the answer.
        sys.stdout.reconfigure(errors="replace")
    try:
        code = main()
    except KeyboardInterrupt:
        # Between two handlers.
        code = INTERRUPTED
    sys.exit(code)
