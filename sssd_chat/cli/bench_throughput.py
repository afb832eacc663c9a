"""`sssd-chat bench throughput`."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sssd_chat.cli import options as shared
from sssd_chat.cli.console import figure, print_table
from sssd_chat.errors import UserError

if TYPE_CHECKING:
    from sssd_chat.bench.llama_server import LlamaServerPeer
    from sssd_chat.bench.side_by_side import OpenModes
    from sssd_chat.bench.throughput import Throughput, ThroughputRun
    from sssd_chat.generation.loading import EngineSettings

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
    from sssd_chat.bench.side_by_side import open_modes, side_by_side
    from sssd_chat.bench.throughput import tasks_for, together

    parallel = settings.sequences
    with contextlib.ExitStack() as stack:
        opened = stack.enter_context(open_modes(settings))
        tasks = tasks_for(_prompts(options, opened), parallel, options.least, options.max_tokens)
        server = _server(stack, options, opened, parallel)
        progress = stack.enter_context(_Progress(parallel, len(tasks)))
        runs: list[ThroughputRun] = []
        for _ in range(options.rounds):
            runs += side_by_side(opened.modes, tasks, parallel, progress.show)
            if server is not None:
                runs.append(server.run(tasks))
    for run in runs:
        _say(f"{parallel} at once, {run.mode}: {run.tokens / run.seconds:.1f} tokens/s")
    names = dict.fromkeys(run.mode for run in runs)
    return [together([run for run in runs if run.mode == name]) for name in names]


def _server(
    stack: contextlib.ExitStack, options: argparse.Namespace, opened: OpenModes, parallel: int
) -> LlamaServerPeer | None:
    """llama.cpp's own server, if it is wanted; it ends with the stack."""
    from sssd_chat.bench.llama_server import llama_server

    if options.llama_server is None:
        return None
    path, target = opened.model.path, opened.target
    server = llama_server(
        options.llama_server, path, parallel, target.context_length, target.threads
    )
    return stack.enter_context(server)


class _Progress:
    """How far the modes are, in a line on stderr that is written over; nothing where that is no
    terminal."""

    def __init__(self, parallel: int, total: int) -> None:
        self._parallel = parallel
        self._total = total

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def show(self, runs: Sequence[ThroughputRun]) -> None:
        """Shows the answers so far."""
        if not sys.stderr.isatty():
            return
        modes = ", ".join(f"{run.mode} {len(run.answers)}/{self._total}" for run in runs)
        print(f"\r\x1b[K{self._parallel} at once: {modes}", end="", file=sys.stderr, flush=True)


def _prompts(options: argparse.Namespace, opened: OpenModes) -> list[list[int]]:
    """The first turns of the questions that fit, as the model's template puts them."""
    from sssd_chat.bench.questions import read_questions
    from sssd_chat.conversation.templates import ChatTemplate, Message

    template = ChatTemplate(opened.model.chat_template, opened.model.vocabulary)
    # The limits of the answers go up to one and a half of their mean.
    longest = 3 * options.max_tokens // 2 + 1
    prompts = []
    for question in read_questions(Path(options.prompts), options.before, options.limit):
        tokens = template.render([Message("user", question.turns[0])]).tokens
        if len(tokens) + longest <= opened.target.context_length:
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
