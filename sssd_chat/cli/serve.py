"""`sssd-chat serve`: an OpenAI-compatible server for other programs."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sssd_chat.cli import options as shared
from sssd_chat.errors import UserError

if TYPE_CHECKING:
    import socket

    from sssd_chat.config import Config
    from sssd_chat.conversation.completions.choice import Choice
    from sssd_chat.conversation.completions.request import Defaults
    from sssd_chat.server.access import ApiKey
    from sssd_chat.server.settings import ServerSettings

_PACKAGES = ("prometheus_client", "starlette", "uvicorn")
"""Of the extra `serve`."""
_KEY_VARIABLE = "SSSD_CHAT_API_KEY"


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = argparse.ArgumentParser(
        prog="sssd-chat serve",
        description="Serves a model over HTTP, as OpenAI's interface has it: chat completions and "
        "completions. Requests are answered together, in one batch. Ctrl+C ends it.",
    )
    shared.add_model_options(result)
    _add_server_options(result)
    _add_limits(result)
    group = result.add_argument_group("datastore")
    group.add_argument(
        "--learn",
        dest="keeps",
        action="store_true",
        help="let answers join the datastore, in a collection for each key: of the keys of a file, "
        "those with the word learn behind them",
    )
    shared.add_starter_option(group)
    result.set_defaults(learn=None)
    shared.add_answer_options(result)
    return result


def _add_server_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("server")
    group.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="default: 127.0.0.1, for programs of this machine alone; any other one needs a key",
    )
    group.add_argument(
        "--port",
        type=shared.whole(0, 65535),
        default=8080,
        metavar="N",
        help="default: 8080; 0 takes a free one",
    )
    keys = group.add_mutually_exclusive_group()
    keys.add_argument(
        "--api-key",
        metavar="KEY",
        help=f"clients must send this key (default: that of the variable {_KEY_VARIABLE}, which "
        "other users of this machine cannot see)",
    )
    keys.add_argument(
        "--api-keys",
        type=shared.path,
        metavar="FILE",
        help="keys, one a line: NAME:KEY, or NAME:KEY learn",
    )
    group.add_argument(
        "--cors",
        type=_origin,
        metavar="ORIGIN",
        help="the web page whose scripts may ask, as https://example.org; * for any",
    )


def _origin(text: str) -> str:
    """An argparse type for what a browser says of where a script comes from."""
    if text != "*" and not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/\s]+", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form https://example.org")
    return text


def _add_limits(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("limits")
    group.add_argument(
        "--parallel",
        type=shared.whole(1, 128),
        default=4,
        metavar="N",
        help="answers written at once (default: 4)",
    )
    shared.add_cells_option(group)
    group.add_argument(
        "--queue",
        type=shared.whole(0, 100_000),
        default=64,
        metavar="N",
        help="answers that may wait for their turn (default: 64)",
    )
    group.add_argument(
        "--most-choices",
        type=shared.whole(1, 128),
        default=8,
        metavar="N",
        help="answers to one request (default: 8)",
    )
    group.add_argument(
        "--body-limit",
        type=shared.number(0.001, 1000),
        default=4,
        metavar="MB",
        help="size of a request (default: 4)",
    )
    group.add_argument(
        "--grace",
        type=shared.number(0, 3600),
        default=10,
        metavar="SECONDS",
        help="how long answers may go on after Ctrl+C or SIGTERM (default: 10)",
    )


def run(arguments: Sequence[str]) -> int:
    """Runs the command and returns the exit code."""
    from sssd_chat.logs import start_logging

    options = parser().parse_args(arguments)
    if not all(map(importlib.util.find_spec, _PACKAGES)):
        raise UserError("The server needs more packages: pip install 'sssd-chat[serve]'.")
    start_logging()
    from sssd_chat.server.running import listen

    config = shared.load_settings()
    settings = _settings(options)
    with contextlib.closing(listen(settings)) as listening:
        return _serve(options, config, settings, listening)


def _settings(options: argparse.Namespace) -> ServerSettings:
    from sssd_chat.server.settings import ServerSettings

    return ServerSettings(
        options.host,
        options.port,
        tuple(_keys(options)),
        options.cors,
        options.parallel,
        options.queue,
        int(options.body_limit * 1e6),
        grace_seconds=options.grace,
    )


def _keys(options: argparse.Namespace) -> list[ApiKey]:
    from sssd_chat.server.access import ApiKey, read_keys

    if options.api_keys is not None:
        keys = read_keys(options.api_keys)
        if options.keeps and not any(key.learns for key in keys):
            raise UserError(
                f"--learn would learn nothing: no key in {options.api_keys} has the word learn "
                "behind it."
            )
        return keys
    secret = os.environ.get(_KEY_VARIABLE) if options.api_key is None else options.api_key
    if secret is None:
        return []
    if not secret.strip():
        raise UserError("The API key is empty.")
    return [ApiKey("api", secret.strip(), learns=True)]


def _defaults(options: argparse.Namespace, config: Config) -> Defaults:
    from sssd_chat.conversation.completions.request import Defaults

    chat = shared.chat_settings(options, config)
    return Defaults(chat.generation, chat.system, chat.thinking, options.most_choices)


def _serve(
    options: argparse.Namespace,
    config: Config,
    settings: ServerSettings,
    listening: socket.socket,
) -> int:
    from sssd_chat.cli.main import INTERRUPTED
    from sssd_chat.conversation.many import ManyAnswers
    from sssd_chat.server.running import serve

    engine = shared.many_settings(options, config)
    many = ManyAnswers(engine, shared.learning_settings(options, config))
    with contextlib.closing(many):
        for notice in many.notices:
            _say(notice)

        def on_answer(caller: ApiKey, choice: Choice) -> None:
            many.count(choice)
            if options.keeps and caller.learns:
                many.keep(caller.name, choice)

        def on_ready(address: str) -> None:
            _say(
                f"{engine.path.stem} is served at {address} for "
                f"{'whoever has a key' if settings.keys else 'programs of this machine'}, "
                f"{options.parallel} at once; Ctrl+C ends it."
            )

        interrupted = serve(
            many.service,
            many.prompts,
            engine.path,
            _defaults(options, config),
            settings,
            listening,
            on_answer,
            on_ready,
        )
    return INTERRUPTED if interrupted else 0


def _say(text: str) -> None:
    print(f"sssd-chat: {text}", file=sys.stderr, flush=True)
