"""`sssd-chat`: the chat in the terminal."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sssd_chat import __version__, paths
from sssd_chat.cli import options as shared
from sssd_chat.cli.keeping import open_history
from sssd_chat.errors import UserError

if TYPE_CHECKING:
    from sssd_chat.config import Config
    from sssd_chat.conversation.history import ChatRecorder


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
    shared.add_chat_choice(result)
    shared.add_model_options(result)
    shared.add_datastore_options(result)
    shared.add_answer_options(result)
    return result


def run(arguments: Sequence[str]) -> int:
    """Runs the command and returns the exit code."""
    from sssd_chat.config import load_config
    from sssd_chat.logs import start_logging
    from sssd_chat.models.resolve import NoModel
    from sssd_chat.tui.app import run_chat, run_without_model

    command = parser()
    options = command.parse_args(arguments)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        command.error("the chat needs a terminal; for one answer use `sssd-chat ask`")
    start_logging()
    config = load_config()
    recorder = _recorder(options, config)
    from sssd_chat.cli.model_choices import ModelChoices
    from sssd_chat.conversation.services import Services

    choices = ModelChoices(options, config)
    services = Services(models=choices)
    try:
        path = shared.model_path(options, config)
        shared.check_cache_options(path, options, config)
    except NoModel as error:
        options.model = run_without_model(str(error), config, services, _places(config))
        if not options.model:
            return error.exit_code
    from sssd_chat.conversation.engine_thread import EngineThread

    # The settings are made in the engine thread: it may take its time to import the engine.
    backend = EngineThread(
        lambda path: shared.engine_settings(_with_model(options, path), config),
        lambda: shared.chat_settings(options, config),
        recorder,
        lambda: shared.learning_settings(options, config),
        check=choices.check,
        system=options.system,
    )
    try:
        return run_chat(backend, "", config, services)
    finally:
        services.library.close()


def _places(config: Config) -> list[str]:
    """The programs and folders in which models were looked for."""
    from sssd_chat.models.places import all_places

    places = all_places(shared.model_folders(config))
    return list(dict.fromkeys(place.name for place in places))


def _with_model(options: argparse.Namespace, path: str | None) -> argparse.Namespace:
    """The options with another model, if one is given."""
    return options if path is None else argparse.Namespace(**{**vars(options), "model": path})


def _recorder(options: argparse.Namespace, config: Config) -> ChatRecorder | None:
    """What keeps the chat; None when the settings want none kept. Raises UserError when a chat is
    to go on that there is not."""
    from sssd_chat.conversation.history import ChatRecorder

    if not config.history.keep:
        if shared.wants_chat(options):
            raise UserError(shared.NONE_KEPT)
        return None
    if options.chat is not None:
        with contextlib.closing(open_history()) as history:
            history.chat(options.chat)
    return ChatRecorder(paths.history_file(), resume=options.resume, chat=options.chat)
