"""`sssd-chat import`: files and folders become a collection that is drafted from."""

from __future__ import annotations

import argparse
import contextlib
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sssd_chat import paths
from sssd_chat.cli import options as shared
from sssd_chat.cli.console import Interrupt
from sssd_chat.errors import UserError

if TYPE_CHECKING:
    from sssd_chat.cli.import_report import ProgressLine
    from sssd_chat.config import Config
    from sssd_chat.conversation.corpus import ImportReport, ImportSettings
    from sssd_chat.datastore.texts import TextStore


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = argparse.ArgumentParser(
        prog="sssd-chat import",
        description="Makes files a collection that is drafted from: text, Markdown, source code, "
        "PDF, DOCX, ODT, EPUB, HTML, e-mail, notebooks, LaTeX, JSON, CSV, subtitles, and zip "
        "archives of these. Folders are taken with all that is in them. Importing again takes "
        "what is new or has changed. Exit code 1 if a file could not be read.",
    )
    result.add_argument(
        "paths", nargs="+", type=shared.path, metavar="PATH", help="a file or a folder"
    )
    result.add_argument(
        "--collection", required=True, metavar="NAME", help="the collection that they become"
    )
    result.add_argument(
        "--model",
        metavar="NAME|PATH",
        help="the model to index for now (default: as for a chat); others follow when they are "
        "used",
    )
    result.add_argument(
        "--sync",
        action="store_true",
        help="remove what came from these paths and is not there any more",
    )
    result.add_argument("--hidden", action="store_true", help="take hidden files in folders too")
    result.add_argument("--ignored", action="store_true", help="take what .gitignore excludes too")
    preview = result.add_mutually_exclusive_group()
    preview.add_argument(
        "--dry-run", action="store_true", help="say what would be taken, and change nothing"
    )
    preview.add_argument(
        "--estimate",
        action="store_true",
        help="replay your last answers with these files and without, and change nothing",
    )
    group = result.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="print one object")
    group.add_argument("--quiet", action="store_true", help="print errors and nothing else")
    return result


def run(arguments: Sequence[str]) -> int:
    """Runs the command and returns the exit code."""
    from sssd_chat.conversation.corpus import check_collection_name
    from sssd_chat.logs import start_logging

    options = parser().parse_args(arguments)
    options.collection = check_collection_name(options.collection)
    start_logging()
    try:
        with Interrupt() as interrupt:
            return _run(options, interrupt)
    except sqlite3.Error as error:
        raise UserError(
            f"The databases in {paths.data_folder()} cannot be used: {error}."
        ) from error


def _run(options: argparse.Namespace, interrupt: Interrupt) -> int:
    config = shared.load_settings(quiet=options.quiet)
    if options.estimate:
        from sssd_chat.cli.import_estimate import run_estimate

        return run_estimate(options, config, import_settings(options, config), interrupt)
    return _import(options, config, interrupt)


def import_settings(options: argparse.Namespace, config: Config) -> ImportSettings:
    """What is imported."""
    from sssd_chat.conversation.corpus import ImportSettings, WalkSettings

    return ImportSettings(
        tuple(options.paths),
        options.collection,
        WalkSettings(config.imports.largest_file_mb * 1_000_000, options.hidden, options.ignored),
        sync=options.sync,
    )


def _import(options: argparse.Namespace, config: Config, interrupt: Interrupt) -> int:
    from sssd_chat.cli.import_report import ProgressLine, print_report
    from sssd_chat.conversation.corpus import Importer
    from sssd_chat.datastore.texts import TextStore

    settings = import_settings(options, config)
    model = None if options.dry_run else _model(options, config)
    with (
        contextlib.closing(TextStore(paths.texts_file())) as texts,
        ProgressLine(sys.stderr.isatty() and not options.quiet) as line,
    ):
        importer = Importer(texts, settings, cancelled=interrupt.event, on_progress=line.show)
        report = importer.preview() if options.dry_run else importer.run()
        if model is not None and not report.stopped:
            _index(report, model, texts, line, interrupt)
    return print_report(report, options)


def _model(options: argparse.Namespace, config: Config) -> Path | None:
    """The model to index for; without one, the texts are kept for later."""
    from sssd_chat.models.resolve import NoModel

    try:
        return shared.model_path(options, config)
    except NoModel:
        if not options.quiet:
            print(
                "sssd-chat: there is no model yet; the texts are indexed when there is one.",
                file=sys.stderr,
            )
        return None


def _index(
    report: ImportReport, model: Path, texts: TextStore, line: ProgressLine, interrupt: Interrupt
) -> None:
    from sssd_chat.conversation.corpus import index_collection, tokenizing_threads
    from sssd_chat.datastore.vocabularies import note_model
    from sssd_chat.llama.model import open_vocabulary

    with open_vocabulary(model) as vocabulary:
        note_model(paths.datastore_folder(), vocabulary.fingerprint, str(model))
        report.tokens = index_collection(
            texts,
            report.collection,
            paths.datastore_folder() / vocabulary.fingerprint,
            vocabulary,
            threads=tokenizing_threads(),
            cancelled=interrupt.event,
            on_progress=line.show,
        )
    report.stopped = report.tokens is None
