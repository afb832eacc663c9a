"""`sssd-chat bench throughput`."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sssd_chat.cli import options as shared
from sssd_chat.cli.console import figure, print_table
from sssd_chat.errors import UserError

if TYPE_CHECKING:
    from sssd_chat.bench.throughput import Peer, Throughput
    from sssd_chat.generation.loading import EngineSettings, LoadedEngine

_MOST_PARALLEL = 128
_CONTEXT = 2048
"""Tokens of each text, unless --ctx says otherwise."""


def parallel_list(text: str) -> list[int]:
    """An argparse type for numbers between commas."""
    one = shared.whole(1, _MOST_PARALLEL)
    return [one(number) for number in text.split(",")]


def throughput(options: argparse.Namespace) -> int:
    """Runs `bench throughput` and returns the exit code."""
    # What is in a datastore, and was learned, may be answers to the same prompts.
    settings = replace(
        shared.engine_settings(options), experience_folder=None, datastore_folder=None
    )
    settings = replace(settings, context_length=settings.context_length or _CONTEXT)
    results: list[Throughput] = []
    for parallel in options.parallel:
        results += _measured(options, replace(settings, sequences=parallel))
    if options.json:
        print(json.dumps(as_json(results, settings, options)))
    else:
        show(results)
    return 0


def _measured(options: argparse.Namespace, settings: EngineSettings) -> list[Throughput]:
    from sssd_chat.bench.throughput import prompts_for, take_turns, together
    from sssd_chat.generation.loading import load_engine

    parallel = settings.sequences
    loaded = load_engine(settings)
    try:
        prompts = prompts_for(_prompts(options, loaded), parallel, options.least)
        with _peers(options, loaded, parallel) as peers:
            runs = []
            for run in take_turns(peers, prompts, options.max_tokens, options.rounds):
                runs.append(run)
                speed = run.tokens / run.seconds
                _say(f"{parallel} at once, {run.mode}: {speed:.1f} tokens/s")
    finally:
        loaded.close()
    return [together([run for run in runs if run.mode == mode]) for mode in peers]


@contextlib.contextmanager
def _peers(
    options: argparse.Namespace, loaded: LoadedEngine, parallel: int
) -> Iterator[dict[str, Peer]]:
    from sssd_chat.bench.llama_server import llama_server
    from sssd_chat.bench.throughput import LLAMA_SERVER, PLAIN, SSSD, SchedulerPeer

    peers: dict[str, Peer] = {
        PLAIN: SchedulerPeer(loaded, parallel, drafting=False),
        SSSD: SchedulerPeer(loaded, parallel, drafting=True),
    }
    if options.llama_server is None:
        yield peers
        return
    target = loaded.target
    with llama_server(
        options.llama_server,
        loaded.model.path,
        parallel,
        target.context_length,
        target.threads,
    ) as server:
        yield {**peers, LLAMA_SERVER: server}


def _prompts(options: argparse.Namespace, loaded: LoadedEngine) -> list[list[int]]:
    """The first turns of the questions that fit, as the model's template puts them."""
    from sssd_chat.bench.questions import read_questions
    from sssd_chat.conversation.templates import ChatTemplate, Message

    template = ChatTemplate(loaded.model.chat_template, loaded.model.vocabulary)
    prompts = []
    for question in read_questions(Path(options.prompts), options.before, options.limit):
        tokens = template.render([Message("user", question.turns[0])]).tokens
        if len(tokens) + options.max_tokens <= loaded.target.context_length:
            prompts.append(tokens)
        else:
            _say(f"{question.set} {question.id} was left out: it does not fit into the context")
    if not prompts:
        raise UserError(f"No question of {options.prompts} fits into the context.")
    return prompts


def _say(text: str) -> None:
    print(f"sssd-chat: {text}", file=sys.stderr, flush=True)


def as_json(
    results: Sequence[Throughput], settings: EngineSettings, options: argparse.Namespace
) -> dict[str, object]:
    """The object of `--json`."""
    return {
        "model": str(settings.path),
        "max_tokens": options.max_tokens,
        "rounds": options.rounds,
        "results": [{**asdict(one), "ratio": _ratio(one, results)} for one in results],
    }


def _ratio(one: Throughput, results: Sequence[Throughput]) -> float | None:
    """The speed over that of our plain decoding with as many at once."""
    from sssd_chat.bench.throughput import PLAIN

    plain = [r for r in results if r.mode == PLAIN and r.parallel == one.parallel]
    return one.tokens_per_second / plain[0].tokens_per_second if plain else None


def show(results: Sequence[Throughput]) -> None:
    """Prints the table."""
    head = ["at once", "", "tokens/s", "of plain", "ms a token", "first token", "τ"]
    rows = [
        [
            str(one.parallel),
            one.mode,
            f"{one.tokens_per_second:.1f}",
            f"{figure(_ratio(one, results), '.2f')}×",
            figure(one.milliseconds_per_token, ".1f"),
            f"{one.first_token_seconds:.2f} s",
            figure(one.tokens_per_step, ".2f"),
        ]
        for one in results
    ]
    print_table(head, rows)
