"""`sssd-chat import --estimate`: what some files would have been worth for the last answers."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sssd_chat import paths
from sssd_chat.cli import options as shared
from sssd_chat.cli.console import Interrupt
from sssd_chat.errors import UserError

if TYPE_CHECKING:
    from sssd_chat.bench.estimate import Estimate
    from sssd_chat.bench.records import Record
    from sssd_chat.config import Config
    from sssd_chat.conversation.corpus import ImportSettings
    from sssd_chat.conversation.history import History, StoredAnswer
    from sssd_chat.datastore.segment import Segment
    from sssd_chat.llama.vocabulary import Vocabulary

_MOST_ANSWERS = 100
_MOST_TOKENS = 30_000
"""Of the answers that are replayed: the last ones that have no more, in about half a minute."""


def run_estimate(
    options: argparse.Namespace, config: Config, settings: ImportSettings, interrupt: Interrupt
) -> int:
    """Runs the estimate and returns the exit code."""
    from sssd_chat.bench.estimate import estimate
    from sssd_chat.cli.main import INTERRUPTED
    from sssd_chat.llama.model import open_vocabulary

    with open_vocabulary(shared.model_path(options, config)) as vocabulary:
        records = _recent_answers(vocabulary)
        with _indexed(options, settings, vocabulary, interrupt) as documents:
            if interrupt.came:
                return INTERRUPTED
            result = estimate(records, documents)
    _print(result, options)
    return 0


def _print(result: Estimate, options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps(dataclasses.asdict(result)))
        return
    answers = "answer" if result.answers == 1 else "answers"
    print(
        f"Of the {result.tokens:,} tokens of your last {result.answers:,} {answers}, "
        f"{result.drafted_with:,} would have come from drafts with these files, "
        f"{result.drafted_without:,} without them: "
        f"{result.tokens_per_step_with:.2f} tokens a step instead of "
        f"{result.tokens_per_step_without:.2f}."
    )


def _recent_answers(vocabulary: Vocabulary) -> list[Record]:
    """The last answers, oldest first. Raises UserError when there are none."""
    from sssd_chat.cli.keeping import open_history

    found: list[StoredAnswer] = []
    records: list[Record] = []
    if paths.history_file().exists():
        with contextlib.closing(open_history()) as history:
            turns = history.answer_ids()[-_MOST_ANSWERS:]
            if turns:
                found = list(history.answers(after=turns[0][0] - 1))
            size = 0
            for answer in reversed(found):
                record = _record(answer, history, vocabulary)
                size += len(record.out) if record is not None else 0
                if record is not None and size <= _MOST_TOKENS:
                    records.insert(0, record)
    if not records:
        raise UserError("There are no answers to replay yet: the estimate needs chats.")
    return records


def _record(answer: StoredAnswer, history: History, vocabulary: Vocabulary) -> Record | None:
    """An answer as a recording. What else the model found likely is not known."""
    from sssd_chat.bench.records import Record
    from sssd_chat.conversation.indexing import answer_tokens

    out = tuple(answer_tokens(answer, vocabulary))
    turns = {turn.id: turn for turn in history.records(answer.chat)}
    before: list[str] = []
    place = turns[answer.turn].parent if answer.turn in turns else None
    while place is not None and place in turns:
        before.insert(0, turns[place].text)
        place = turns[place].parent
    prompt = tuple(vocabulary.tokenize("\n".join(before)))
    if not out or not prompt:
        return None
    return Record("chats", answer.turn, 0, prompt, out, tuple((token,) for token in out))


@contextlib.contextmanager
def _indexed(
    options: argparse.Namespace,
    settings: ImportSettings,
    vocabulary: Vocabulary,
    interrupt: Interrupt,
) -> Iterator[tuple[Segment, ...]]:
    """The files as segments, in a folder that is removed afterwards."""
    from sssd_chat.cli.import_report import ProgressLine
    from sssd_chat.conversation.corpus import Importer, index_collection, tokenizing_threads
    from sssd_chat.datastore.store import Datastore
    from sssd_chat.datastore.texts import TextStore

    settings = dataclasses.replace(settings, sync=False)
    with (
        tempfile.TemporaryDirectory(prefix="sssd-chat-") as name,
        contextlib.closing(TextStore(Path(name) / "texts.db")) as texts,
    ):
        with ProgressLine(sys.stderr.isatty() and not options.quiet) as line:
            importer = Importer(texts, settings, cancelled=interrupt.event, on_progress=line.show)
            report = importer.run()
            if not options.quiet:
                for note in report.failed:
                    print(f"sssd-chat: {note.text}", file=sys.stderr)
            index_collection(
                texts,
                settings.collection,
                Path(name) / "index",
                vocabulary,
                threads=tokenizing_threads(),
                cancelled=interrupt.event,
                on_progress=line.show,
            )
        with contextlib.closing(Datastore(Path(name) / "index")) as store:
            while store.tidy():
                pass
            yield store.snapshot.segments
