"""`sssd-chat datastore`: what drafts come from besides the conversation."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from sssd_chat import paths
from sssd_chat.cli import datastore_forget, datastore_show, datastore_upkeep
from sssd_chat.cli import options as shared
from sssd_chat.errors import UserError


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = argparse.ArgumentParser(
        prog="sssd-chat datastore",
        description="Shows, checks, rebuilds and forgets what drafts come from: the answers of "
        "earlier chats, imported documents, and the collections that came with the program. Each "
        "vocabulary of models has an index of its own.",
    )
    kinds = result.add_subparsers(dest="kind", required=True, metavar="COMMAND")
    _add_json(kinds.add_parser("list", help="collections, their size, and what each saved"))
    _add_json(kinds.add_parser("stats", help="segments and memory of each index"))
    _add_json(
        kinds.add_parser(
            "check",
            help="compare all files with their checksums",
            description="Reads all index files and checks them. Exit code 1 if something is "
            "damaged; the next chat indexes the text of it again.",
        )
    )
    rebuild = kinds.add_parser(
        "rebuild",
        help="make the index of a model anew from the texts",
        description="Drops the index of the model's vocabulary and makes it anew from the chats, "
        "the imported texts and the starter collections, forgotten ones of these included.",
    )
    rebuild.add_argument("--model", metavar="NAME|PATH", help="default: as for a chat")
    rebuild.add_argument(
        "--no-starter",
        dest="starter",
        action="store_false",
        default=None,
        help="do without the collections that came with the program",
    )
    kinds.add_parser("compact", help="one segment for each collection")
    _add_forget(kinds)
    audit = kinds.add_parser(
        "audit",
        help="does any file still hold a text?",
        description="Looks for a text in every file of the data folder: as bytes, and as tokens. "
        "Exit code 1 if it is found.",
    )
    audit.add_argument("text", metavar="TEXT")
    _add_json(audit)
    return result


def _add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON")


def _add_forget(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    forget = kinds.add_parser(
        "forget",
        help="take something out for good",
        description="Forgets for good: the text itself and everything that was made from it. When "
        "the command has said so, no file of sssd-chat holds it any more.",
    )
    what = forget.add_mutually_exclusive_group(required=True)
    what.add_argument("--chat", type=shared.whole(1), metavar="ID", help="a chat")
    what.add_argument("--collection", type=shared.name, metavar="NAME", help="a collection")
    what.add_argument("--document", metavar="PATH", help="an imported document, by its path")
    what.add_argument("--all", action="store_true", help="all chats and all imported texts")
    forget.add_argument("--yes", action="store_true", help="do not ask")


def run(arguments: Sequence[str]) -> int:
    """Runs the command and returns the exit code."""
    import sqlite3

    from sssd_chat.logs import start_logging

    options = parser().parse_args(arguments)
    start_logging()
    try:
        return _COMMANDS[options.kind](options)
    except sqlite3.Error as error:
        raise UserError(
            f"The databases in {paths.data_folder()} cannot be used: {error}."
        ) from error


_COMMANDS = {
    "list": datastore_show.show_collections,
    "stats": datastore_show.show_indexes,
    "check": datastore_show.check,
    "rebuild": datastore_upkeep.rebuild,
    "compact": datastore_upkeep.compact,
    "forget": datastore_forget.forget,
    "audit": datastore_forget.audit,
}
