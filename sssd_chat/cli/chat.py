"""`sssd-chat`: the chat in the terminal."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from sssd_chat import __version__, paths
from sssd_chat.cli import options as shared


def parser() -> argparse.ArgumentParser:
    """The options of the command, with a list of the others."""
    from sssd_chat.cli.main import COMMANDS

    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:{width}}  {text}" for name, text in COMMANDS.items())
    result = argparse.ArgumentParser(
        prog="sssd-chat",
        description="Chats with a language model on this machine.",
        epilog=f"commands (each has --help):\n{commands}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("--version", action="version", version=f"sssd-chat {__version__}")
    result.add_argument(
        "--continue", dest="resume", action="store_true", help="go on with the chat used last"
    )
    shared.add_model_options(result)
    shared.add_answer_options(result)
    return result


def run(arguments: Sequence[str]) -> int:
    """Runs the command and returns the exit code."""
    from sssd_chat.logs import start_logging
    from sssd_chat.models.resolve import NoModel, resolve_model
    from sssd_chat.tui.app import run_chat

    command = parser()
    options = command.parse_args(arguments)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        command.error("the chat needs a terminal; for one answer use `sssd-chat ask`")
    start_logging()
    try:
        resolve_model(options.model)
    except NoModel as error:
        run_chat(None, str(error))
        return error.exit_code
    from sssd_chat.conversation.backend import EngineThread
    from sssd_chat.conversation.history import ChatRecorder

    # The settings are made in the engine thread: it may take its time to import the engine.
    backend = EngineThread(
        lambda: shared.engine_settings(options),
        lambda: shared.chat_settings(options),
        ChatRecorder(paths.history_file(), resume=options.resume),
    )
    return run_chat(backend, "")
