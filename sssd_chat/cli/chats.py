"""`sssd-chat chats`: the chats that are kept."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sssd_chat import paths
from sssd_chat.cli import options as shared
from sssd_chat.cli.keeping import open_history
from sssd_chat.errors import UserError
from sssd_chat.text import counted

if TYPE_CHECKING:
    from sssd_chat.conversation.history import ChatSummary, History, SearchHit

_LISTED = 50
_FOUND = 20
_FORMATS = ("md", "json", "sharegpt")
_LARGE_BYTES = 200_000_000
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = argparse.ArgumentParser(
        prog="sssd-chat chats",
        description="Lists, searches, shows, renames, deletes, exports and imports chats.",
    )
    kinds = result.add_subparsers(dest="kind", required=True, metavar="COMMAND")
    _add_reading(kinds)
    _add_changing(kinds)
    _add_exchange(kinds)
    return result


def _add_reading(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    listing = kinds.add_parser("list", help="the chats, those used last first")
    _add_limit(listing, _LISTED)
    listing.add_argument("--all", action="store_true", help="all of them")
    _add_json(listing)
    search = kinds.add_parser(
        "search",
        help="chats that hold some text",
        description="Finds the chats in which one message, or the title, holds all the words, in "
        'small or capital letters. Words in "double quotes" are looked for together.',
    )
    search.add_argument("text", nargs="+", metavar="TEXT")
    _add_limit(search, _FOUND)
    _add_json(search)
    show = kinds.add_parser("show", help="one chat, whole")
    show.add_argument("id", type=shared.whole(1), metavar="ID")
    _add_json(show)


def _add_changing(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    rename = kinds.add_parser("rename", help="another title for a chat")
    rename.add_argument("id", type=shared.whole(1), metavar="ID")
    rename.add_argument("title", nargs="+", metavar="TITLE")
    delete = kinds.add_parser(
        "delete",
        help="forget chats",
        description="Deletes chats and all that was learned from them. When the command has said "
        "so, no file of sssd-chat holds their text any more.",
    )
    delete.add_argument("ids", nargs="+", type=shared.whole(1), metavar="ID")
    delete.add_argument("--yes", action="store_true", help="do not ask")


def _add_exchange(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    export = kinds.add_parser(
        "export",
        help="chats as Markdown or JSON",
        description="Writes chats to standard output or a file. json keeps everything and can be "
        "imported again; md and sharegpt hold the current branch of each chat.",
    )
    export.add_argument("ids", nargs="*", type=shared.whole(1), metavar="ID")
    export.add_argument("--all", action="store_true", help="all chats")
    export.add_argument("--format", choices=_FORMATS, help="default: json for a FILE.json, else md")
    export.add_argument("-o", "--output", type=Path, metavar="FILE")
    export.add_argument("--force", action="store_true", help="overwrite the file")
    export.set_defaults(refuse=export.error)
    importing = kinds.add_parser(
        "import",
        help="chats from files",
        description="Imports chats: those that this program exported as json, and those of "
        "ChatGPT, Claude, LM Studio, llama.cpp, ShareGPT, UltraChat and Magpie (JSON or JSON "
        "lines). A chat that is there already is not imported again. Exit code 1 if something "
        "could not be imported.",
    )
    importing.add_argument("files", nargs="+", type=Path, metavar="FILE")
    _add_json(importing)


def _add_limit(parser: argparse.ArgumentParser, default: int) -> None:
    parser.add_argument(
        "--limit",
        type=shared.whole(1),
        default=default,
        metavar="N",
        help=f"at most N (default: {default})",
    )


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: Sequence[str]) -> int:
    """Runs the command and returns the exit code."""
    options = parser().parse_args(arguments)
    if options.kind == "export" and bool(options.ids) == options.all:
        options.refuse("give the numbers of chats, or --all")

    import sqlite3

    from sssd_chat.logs import start_logging

    start_logging()
    if options.kind == "delete":
        return _delete(options)
    try:
        with contextlib.closing(open_history()) as history:
            return _COMMANDS[options.kind](history, options)
    except sqlite3.OperationalError as error:
        raise UserError(f"{paths.history_file()} cannot be used: {error}.") from error


def _list(history: History, options: argparse.Namespace) -> int:
    chats = history.chats(None if options.all else options.limit)
    if options.json:
        _print_json([_as_json(chat) for chat in chats])
        return 0
    for chat in chats:
        print(f"{chat.id:6}  {_day(chat.updated)}  {_turns(chat)}  {_shown(chat.title)}")
    if not chats:
        _say("there are no chats yet.")
    elif not options.all and len(chats) == options.limit:
        _say("there may be more; --all lists them all.")
    return 0


def _search(history: History, options: argparse.Namespace) -> int:
    hits = history.search(" ".join(options.text), options.limit)
    if options.json:
        _print_json([_hit_as_json(hit) for hit in hits])
        return 0
    for hit in hits:
        print(f"{hit.chat:6}  {_day(hit.updated)}  {_shown(hit.title)}")
        if hit.turn is not None:
            print(f"        {_marked(hit)}")
    if not hits:
        _say("nothing was found.")
    return 0


def _show(history: History, options: argparse.Namespace) -> int:
    from sssd_chat.conversation.exchange.exporting import exported
    from sssd_chat.text import for_display

    form = "json" if options.json else "md"
    for piece in exported(history, [options.id], form):
        sys.stdout.write(for_display(piece) if sys.stdout.isatty() else piece)
    return 0


def _rename(history: History, options: argparse.Namespace) -> int:
    title = _shown(" ".join(options.title))
    if not title:
        raise UserError("A chat cannot go without a title.")
    history.rename(options.id, title)
    _say(f"chat {options.id} is now called {history.chat(options.id).title}")
    return 0


def _delete(options: argparse.Namespace) -> int:
    from sssd_chat.conversation.forgetting import forget_chats

    with contextlib.closing(open_history()) as history:
        chats = [history.chat(chat) for chat in dict.fromkeys(options.ids)]
    if not options.yes and sys.stdin.isatty() and not _confirmed(chats):
        _say("nothing was deleted.")
        return 1
    if paths.history_file().stat().st_size > _LARGE_BYTES:
        _say("the history is large; writing it anew without the text takes a while.")
    forget_chats([chat.id for chat in chats])
    for chat in chats:
        _say(f"deleted chat {chat.id}, {_shown(chat.title)}")
    return 0


def _confirmed(chats: list[ChatSummary]) -> bool:
    for chat in chats:
        print(f"{chat.id:6}  {_day(chat.updated)}  {_shown(chat.title)}", file=sys.stderr)
    print("Delete for good, with all that was learned from it? [y/N] ", end="", file=sys.stderr)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _export(history: History, options: argparse.Namespace) -> int:
    from sssd_chat.conversation.exchange.exporting import exported
    from sssd_chat.files import write_atomically
    from sssd_chat.text import for_display

    output: Path | None = options.output
    suffix = "" if output is None else output.suffix.lower()
    form = options.format or ("json" if suffix == ".json" else "md")
    chats = [chat.id for chat in history.chats()][::-1] if options.all else options.ids
    for chat in chats:
        history.chat(chat)
    pieces = exported(history, chats, form)
    if output is None:
        for piece in pieces:
            sys.stdout.write(for_display(piece) if sys.stdout.isatty() else piece)
        return 0
    if output.exists() and not options.force:
        raise UserError(f"{output} exists already; --force overwrites it.")
    if not output.absolute().parent.is_dir():
        raise UserError(f"{output} cannot be written: there is no folder {output.parent}.")
    try:
        write_atomically(output.absolute(), (piece.encode() for piece in pieces))
    except OSError as error:
        raise UserError(f"{output} cannot be written: {error.strerror or error}.") from error
    _say(f"{counted(len(chats), 'chat')} written to {output}.")
    return 0


def _import(history: History, options: argparse.Namespace) -> int:
    from sssd_chat.conversation.exchange.importing import Importer
    from sssd_chat.conversation.exchange.reading import Problem, read_chats

    importer = Importer(history)
    added: list[int] = []
    problems: list[dict[str, str]] = []
    known = 0
    for file in options.files:
        try:
            for found in read_chats(file):
                if isinstance(found, Problem):
                    _say(f"{file}, {found.position}: not imported, {_shown(found.reason)}.")
                    problems.append(
                        {"file": str(file), "position": found.position, "reason": found.reason}
                    )
                elif (number := importer.add(found.chat)) is None:
                    known += 1
                else:
                    added.append(number)
        except UserError as error:
            _say(str(error))
            problems.append({"file": str(file), "position": "", "reason": str(error)})
    if options.json:
        _print_json({"imported": added, "known": known, "problems": problems})
    there = f"; {counted(known, 'chat')} there already" if known else ""
    _say(f"{counted(len(added), 'chat')} imported{there}.")
    return 1 if problems else 0


_COMMANDS = {
    "list": _list,
    "search": _search,
    "show": _show,
    "rename": _rename,
    "export": _export,
    "import": _import,
}


def _as_json(chat: ChatSummary) -> dict[str, object]:
    return {
        "id": chat.id,
        "title": chat.title,
        "created": chat.created,
        "updated": chat.updated,
        "turns": chat.turns,
    }


def _hit_as_json(hit: SearchHit) -> dict[str, object]:
    return {
        "id": hit.chat,
        "title": hit.title,
        "updated": hit.updated,
        "turn": hit.turn,
        "role": hit.role or None,
        "excerpt": hit.excerpt,
        "matches": [list(span) for span in hit.matches],
    }


def _print_json(value: object) -> None:
    from sssd_chat.conversation.exchange.exporting import as_json

    print(as_json(value))


def _marked(hit: SearchHit) -> str:
    """The excerpt, what was found in it bold on a terminal."""
    import os

    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return hit.excerpt
    parts: list[str] = []
    end = 0
    for begin, stop in hit.matches:
        parts += [hit.excerpt[end:begin], _BOLD, hit.excerpt[begin:stop], _PLAIN]
        end = stop
    return "".join([*parts, hit.excerpt[end:]])


def _shown(title: str) -> str:
    from sssd_chat.text import one_line

    return one_line(title)


def _turns(chat: ChatSummary) -> str:
    return f"{chat.turns:5} {'turn ' if chat.turns == 1 else 'turns'}"


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _say(sentence: str) -> None:
    from sssd_chat.text import for_display

    print(f"sssd-chat: {for_display(sentence)}", file=sys.stderr)
