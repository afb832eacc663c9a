"""`sssd-chat batch`: many requests from a file, answered into another."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from sssd_chat.cli import options as shared
from sssd_chat.cli.console import Interrupt
from sssd_chat.errors import UserError, reason

if TYPE_CHECKING:
    from sssd_chat.conversation.batch.lines import LineId
    from sssd_chat.conversation.batch.output import AnswerFile
    from sssd_chat.conversation.completions.choice import Choice

_MOST_CHOICES = 128
_AHEAD = 4
"""Requests that wait in the engine's queue, so that no place is empty while one is read."""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = argparse.ArgumentParser(
        prog="sssd-chat batch",
        description="Answers the requests of a file, many at once: lines of OpenAI's batch files "
        '(custom_id, method, url, body), or plain ones: {"prompt": "…"} or {"messages": […]}. '
        "Stopped or killed, it goes on where it was when it is run again.",
    )
    result.add_argument("input", metavar="IN", help="requests (JSONL), - for standard input")
    result.add_argument(
        "-o", "--out", required=True, type=shared.path, metavar="OUT", help="answers (JSONL)"
    )
    result.add_argument(
        "--parallel",
        type=shared.whole(1, 128),
        default=8,
        metavar="N",
        help="answers written at once (default: 8)",
    )
    result.add_argument(
        "--ordered",
        action="store_true",
        help="put the answers into the order of the requests when all are there",
    )
    result.add_argument("--quiet", action="store_true", help="show no progress")
    shared.add_model_options(result)
    shared.add_cells_option(result)
    group = result.add_argument_group("datastore")
    shared.add_starter_option(group)
    group.add_argument(
        "--share-datastore",
        action="store_true",
        help="draft each answer from those before it, too; they leave the datastore at the end",
    )
    result.set_defaults(learn=None)
    shared.add_answer_options(result)
    return result


def run(arguments: Sequence[str]) -> int:
    """Runs the command and returns the exit code."""
    from sssd_chat.logs import start_logging

    options = parser().parse_args(arguments)
    start_logging()
    with Interrupt() as interrupt, _opened(options.input) as file:
        return _batch(options, file, interrupt)


@contextlib.contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    """The input, which is read twice; standard input is copied for that."""
    if name == "-":
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
            yield cast(BinaryIO, copy)
        return
    path = shared.path(name)
    try:
        file = path.open("rb")
    except OSError as error:
        raise UserError(f"The requests in {path} cannot be read: {reason(error, path)}.") from error
    with file:
        yield file


def _batch(options: argparse.Namespace, file: BinaryIO, interrupt: Interrupt) -> int:
    from sssd_chat.conversation.batch.lines import read_lines
    from sssd_chat.conversation.batch.output import AnswerFile

    wanted = {line.id for line in read_lines(file)}
    if not wanted:
        raise UserError("The input holds no requests.")
    _check_files(options)
    out = AnswerFile(options.out, wanted.__contains__)
    with contextlib.closing(out):
        if len(out.done) < len(wanted):
            code = _answer(options, file, wanted, out, interrupt)
            if code is not None:
                return code
        if options.ordered:
            out.put_in_order()
    return _end(options, out, wanted)


def _check_files(options: argparse.Namespace) -> None:
    out: Path = options.out
    with contextlib.suppress(OSError):
        if options.input != "-" and out.samefile(options.input):
            raise UserError(f"{out} holds the requests: give another file with -o.")
    if out.exists() and not out.is_file():
        raise UserError(f"{out} is no file.")


def _end(options: argparse.Namespace, out: AnswerFile, wanted: set[LineId]) -> int:
    """Says how it ended; a line with an error is not done."""
    from sssd_chat.text import counted

    if not options.quiet:
        print(
            f"sssd-chat: all {len(wanted)} requests have an answer in {out.path}.", file=sys.stderr
        )
    if out.failed:
        failed = counted(out.failed, "request")
        print(f"sssd-chat: {failed} could not be answered; the lines say why.", file=sys.stderr)
    return 1 if out.failed else 0


def _answer(
    options: argparse.Namespace,
    file: BinaryIO,
    wanted: set[LineId],
    out: AnswerFile,
    interrupt: Interrupt,
) -> int | None:
    """Answers what is not answered yet; an exit code when that is not all."""
    from sssd_chat.cli.batch_progress import BatchProgress
    from sssd_chat.cli.main import INTERRUPTED
    from sssd_chat.conversation.batch.earlier import MOST_BYTES, texts_of
    from sssd_chat.conversation.batch.lines import read_lines
    from sssd_chat.conversation.batch.run import BatchRun
    from sssd_chat.conversation.completions.request import Defaults
    from sssd_chat.conversation.many import ManyAnswers
    from sssd_chat.generation.loading import LoadCancelled

    config = shared.load_settings(quiet=options.quiet)
    engine = shared.many_settings(options, config)
    chat = shared.chat_settings(options, config)
    defaults = Defaults(chat.generation, chat.system, chat.thinking, _MOST_CHOICES)
    progress = BatchProgress(len(wanted), len(out.done), quiet=options.quiet)
    try:
        many = ManyAnswers(
            engine,
            shared.learning_settings(options, config),
            lambda done: progress.loading(done) and not interrupt.came,
        )
    except LoadCancelled:
        return INTERRUPTED
    with contextlib.closing(many):
        if options.share_datastore and out.done:
            with contextlib.suppress(OSError):
                many.share_texts(texts_of(out.latest(MOST_BYTES)))

        def on_answer(choice: Choice) -> None:
            many.count(choice)
            if options.share_datastore:
                many.share(choice)

        batch = BatchRun(many.service, many.prompts, defaults, engine.path.stem, out, on_answer)
        at_once = options.parallel + _AHEAD
        for tally in batch.run(read_lines(file), at_once, lambda: interrupt.came):
            progress.show(tally)
        progress.finish(batch.tally)
    if len(out.done) == len(wanted):
        return None
    if not options.quiet:
        print("sssd-chat: stopped; the same command goes on from here.", file=sys.stderr)
    return INTERRUPTED
