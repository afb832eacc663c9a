"""`sssd-chat bench turn`."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from sssd_chat.cli import options as shared
from sssd_chat.cli.console import print_table
from sssd_chat.errors import UserError

if TYPE_CHECKING:
    from sssd_chat.bench.turn import TurnTimes
    from sssd_chat.generation.loading import LoadedEngine

_ANSWER_TOKENS = 4


def turn(options: argparse.Namespace) -> int:
    """Runs `bench turn` and returns the exit code."""
    from sssd_chat.bench.turn import run_turns
    from sssd_chat.conversation.session import ChatSession, ChatSettings
    from sssd_chat.generation.engine import GenerationSettings
    from sssd_chat.generation.loading import load_engine

    engine = replace(
        shared.engine_settings(options),
        reads_ahead=True,
        experience_folder=None,
        datastore_folder=None,
    )
    chat = ChatSettings(generation=GenerationSettings(max_tokens=_ANSWER_TOKENS))
    # An engine each: in one cache, the empty chat would pay for the cells of the long one.
    loaded: list[LoadedEngine] = []
    try:
        loaded += [load_engine(engine), load_engine(engine)]
        _check_room(options, loaded[0])
        vocabulary = loaded[0].model.vocabulary
        empty, long = (ChatSession(one, chat) for one in loaded)
        times = run_turns(
            empty,
            long,
            lambda text: len(vocabulary.tokenize(text)),
            options.chat_tokens,
            options.message_tokens,
            options.repeats,
            lambda number: print(
                f"sssd-chat: repeat {number + 1} of {options.repeats}", file=sys.stderr
            ),
        )
        name = loaded[0].model.name
    finally:
        for one in loaded:
            one.close()
    if options.json:
        print(json.dumps(as_json(times, name)))
    else:
        show(times)
    return 0


def _check_room(options: argparse.Namespace, loaded: LoadedEngine) -> None:
    needed = options.chat_tokens + 2 * options.repeats * (options.message_tokens + 60)
    # A quarter is kept for an answer; a chat that loses turns would be read anew.
    if needed > 0.75 * loaded.target.context_length:
        raise UserError(
            f"The long chat grows to about {needed} tokens, too many for a context of "
            f"{loaded.target.context_length}: use fewer --repeats or a larger --ctx."
        )


def as_json(times: TurnTimes, model: str) -> dict[str, object]:
    """The object of `--json`."""
    from sssd_chat.bench.turn import MODES

    return {
        "model": model,
        "chat_tokens": times.chat_tokens,
        "new_tokens": times.new_tokens,
        "modes": {
            mode: {
                "seconds": times.seconds[mode],
                "median": times.median(mode),
                "ratio": times.ratio(mode),
                "reused_tokens": times.reused[mode],
            }
            for mode in MODES
        },
    }


def show(times: TurnTimes) -> None:
    """Prints the table."""
    from sssd_chat.bench.turn import MODES

    print(
        f"{times.chat_tokens} tokens of chat, {max(times.new_tokens)} of the new message with its "
        f"frame, {len(times.new_tokens)} repeats"
    )
    print_table(
        ["", "first token", "least", "most", "of empty"],
        [
            [
                mode,
                f"{1000 * times.median(mode):.0f} ms",
                f"{1000 * min(times.seconds[mode]):.0f}",
                f"{1000 * max(times.seconds[mode]):.0f}",
                f"{times.ratio(mode):.2f}×",
            ]
            for mode in MODES
        ],
    )
