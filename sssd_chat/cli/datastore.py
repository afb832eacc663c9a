"""`sssd-chat datastore`: what drafts come from besides the conversation."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sssd_chat import paths
from sssd_chat.cli import options as shared
from sssd_chat.cli.console import duration, print_table, show_status, size
from sssd_chat.errors import UserError
from sssd_chat.text import counted

if TYPE_CHECKING:
    from sssd_chat.datastore.info import CollectionInfo
    from sssd_chat.datastore.store import Datastore
    from sssd_chat.datastore.vocabularies import VocabularyFolder

_WAIT_SECONDS = 60.0
"""How long another program that writes to the datastore is asked to step back."""


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


@dataclass(frozen=True, slots=True)
class _Row:
    """A collection in one index, as it is listed."""

    vocabulary: str
    models: tuple[str, ...]
    collection: str
    documents: int
    tokens: int
    bytes: int
    segments: int
    accepted_tokens: int
    seconds_saved: float


def _list(options: argparse.Namespace) -> int:
    rows = list(_rows())
    if options.json:
        print(json.dumps([asdict(row) for row in rows]))
        return 0
    for vocabulary in dict.fromkeys(row.vocabulary for row in rows):
        own = [row for row in rows if row.vocabulary == vocabulary]
        print(f"{_models(own[0].models)} (vocabulary {vocabulary})")
        head = ["  collection", "documents", "tokens", "size", "accepted", "saved"]
        print_table(
            head,
            [
                [
                    f"  {row.collection}",
                    f"{row.documents:,}",
                    f"{row.tokens:,}",
                    size(row.bytes),
                    f"{row.accepted_tokens:,}",
                    duration(row.seconds_saved),
                ]
                for row in own
            ],
        )
    if not rows:
        _say("the datastore is empty; it fills as you chat.")
    return 0


def _rows() -> Iterator[_Row]:
    from sssd_chat.datastore.savings import Saving, read_savings

    savings = read_savings(paths.savings_file())
    for vocabulary, store in _stores():
        for info in _collections(store):
            saving = savings.get(info.name, Saving())
            yield _Row(
                vocabulary.fingerprint,
                vocabulary.models,
                info.name,
                info.documents,
                info.tokens,
                info.stored_bytes,
                info.segments,
                saving.tokens,
                round(saving.seconds, 1),
            )


def _stats(options: argparse.Namespace) -> int:
    found = []
    for vocabulary, store in _stores():
        while store.tidy():
            pass
        infos = _collections(store)
        memory = store.estimate_memory()
        found.append(
            {
                "vocabulary": vocabulary.fingerprint,
                "models": list(vocabulary.models),
                "folder": str(vocabulary.folder),
                "collections": len(infos),
                "documents": sum(info.documents for info in infos),
                "tokens": sum(info.tokens for info in infos),
                "bytes": sum(info.stored_bytes for info in infos),
                "segments": _segments(store),
                "private_bytes": memory.private,
                "mapped_bytes": memory.mapped,
                "bytes_per_token": _per_token(infos),
            }
        )
    if options.json:
        print(json.dumps(found))
        return 0
    head = ["vocabulary", "documents", "tokens", "segments", "size", "a token", "memory", "mapped"]
    rows = [
        [
            str(item["vocabulary"]),
            f"{item['documents']:,}",
            f"{item['tokens']:,}",
            str(item["segments"]),
            size(int(str(item["bytes"]))),
            "–" if item["bytes_per_token"] is None else f"{item['bytes_per_token']:.2f} B",
            size(int(str(item["private_bytes"]))),
            size(int(str(item["mapped_bytes"]))),
        ]
        for item in found
    ]
    print_table(head, rows)
    return 0


def _per_token(infos: Sequence[CollectionInfo]) -> float | None:
    tokens = sum(info.tokens for info in infos)
    return sum(info.stored_bytes for info in infos) / tokens if tokens else None


def _check(options: argparse.Namespace) -> int:
    problems = [problem for _, store in _stores() for problem in store.check_integrity()]
    if options.json:
        print(json.dumps({"problems": problems}))
    for problem in problems:
        _say(f"{problem}.")
    if problems:
        _say("the next chat indexes again what is missing.")
        return 1
    if not options.json:
        _say("all files are as they were written.")
    return 0


def _rebuild(options: argparse.Namespace) -> int:
    from sssd_chat.conversation.history import History
    from sssd_chat.conversation.indexing import Indexing
    from sssd_chat.datastore.starter import starter_corpora
    from sssd_chat.datastore.texts import TextStore
    from sssd_chat.datastore.vocabularies import note_model
    from sssd_chat.llama.model import open_vocabulary

    config = shared.load_settings()
    model = shared.model_path(options, config)
    wants_starters = config.datastore.starter if options.starter is None else options.starter
    with (
        open_vocabulary(model) as vocabulary,
        contextlib.closing(History(paths.history_file())) as history,
        contextlib.closing(TextStore(paths.texts_file())) as texts,
    ):
        note_model(paths.datastore_folder(), vocabulary.fingerprint, str(model))
        folder = paths.datastore_folder() / vocabulary.fingerprint
        with _written(folder) as store:
            texts.welcome()
            store.forget_everything()
            indexing = Indexing(store, vocabulary, progress=_progress)
            indexing.chats(history)
            indexing.imports(texts)
            indexing.starters(starter_corpora() if wants_starters else [], set())
            _progress("", 0, 0)
            store.compact()
            infos = store.collections()
    documents, tokens = sum(i.documents for i in infos), sum(i.tokens for i in infos)
    held = f"{counted(documents, 'document')} with {counted(tokens, 'token')}"
    _say(f"{held} {'is' if documents == 1 else 'are'} indexed for {model.name}.")
    return 0


def _compact(_options: argparse.Namespace) -> int:
    from sssd_chat.datastore.vocabularies import vocabulary_folders

    for vocabulary in vocabulary_folders(paths.datastore_folder()):
        with _written(vocabulary.folder) as store:
            before = _segments(store)
            store.compact()
            after = _segments(store)
            _say(f"{_models(vocabulary.models)}: {counted(before, 'segment')} became {after}.")
    return 0


def _segments(store: Datastore) -> int:
    return sum(info.segments for info in store.collections())


def _forget(options: argparse.Namespace) -> int:
    from sssd_chat.conversation import forgetting

    if not options.yes and not _confirmed(options):
        _say("nothing was forgotten.")
        return 1
    if options.chat is not None:
        forgetting.forget_chat(options.chat)
        _say(f"chat {options.chat} is forgotten.")
    elif options.collection is not None:
        count = forgetting.forget_collection(options.collection)
        _say(f"the collection {options.collection} is forgotten ({counted(count, 'document')}).")
    elif options.document is not None:
        name = _known_document(options.document)
        forgetting.forget_document(name)
        _say(f"the document {name} is forgotten.")
    else:
        forgetting.forget_everything()
        _say("everything is forgotten.")
    return 0


def _known_document(path: str) -> str:
    """What a document is called, whose path may be given as it is kept or from here."""
    from sssd_chat.conversation.corpus import document_name
    from sssd_chat.datastore.texts import TextStore

    name = document_name(Path(path))
    with contextlib.closing(TextStore(paths.texts_file())) as texts:
        is_known = any(texts.parts(collection, name) for collection in texts.collections())
    return name if is_known else document_name(Path(path).absolute())


def _confirmed(options: argparse.Namespace) -> bool:
    """Asks on a terminal; a script that says what to forget means it."""
    if not sys.stdin.isatty():
        if options.all:
            raise UserError("Forgetting everything needs --yes where nobody can be asked.")
        return True
    if options.chat is not None:
        what = f"chat {options.chat}"
    elif options.collection is not None:
        what = f"the collection {options.collection}"
    elif options.document is not None:
        what = f"the document {options.document}"
    else:
        what = "all chats and all imported texts"
    print(f"Forget {what} for good? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _audit(options: argparse.Namespace) -> int:
    from sssd_chat.conversation.auditing import audit
    from sssd_chat.llama.model import open_vocabulary
    from sssd_chat.text import for_display

    if not options.text.strip():
        raise UserError("There is no text to look for.")
    traces = list(
        audit(options.text, paths.data_folder(), paths.datastore_folder(), open_vocabulary)
    )
    if options.json:
        print(json.dumps([{"path": str(t.path), "what": t.what} for t in traces]))
        return 1 if traces else 0
    for trace in traces:
        print(for_display(f"{trace.path}: {trace.what}"))
    if not traces:
        _say(f"no file below {paths.data_folder()} holds this text.")
    return 1 if traces else 0


_COMMANDS = {
    "list": _list,
    "stats": _stats,
    "check": _check,
    "rebuild": _rebuild,
    "compact": _compact,
    "forget": _forget,
    "audit": _audit,
}


def _stores() -> Iterator[tuple[VocabularyFolder, Datastore]]:
    """Every index, opened for reading."""
    from sssd_chat.datastore.store import Datastore
    from sssd_chat.datastore.vocabularies import vocabulary_folders

    for vocabulary in vocabulary_folders(paths.datastore_folder()):
        store = Datastore(vocabulary.folder)
        try:
            yield vocabulary, store
        finally:
            store.close()


def _collections(store: Datastore) -> list[CollectionInfo]:
    """What is in an index. Raises UserError when it is nothing because it cannot be read."""
    infos = store.collections()
    if store.problem and not infos:
        raise UserError(store.problem)
    return infos


@contextlib.contextmanager
def _written(folder: Path) -> Iterator[Datastore]:
    """An index opened for writing. Raises UserError when another program does not step back, or
    the disk refuses."""
    from sssd_chat.datastore.info import NotTheWriter
    from sssd_chat.datastore.store import Datastore

    store = Datastore(folder, _WAIT_SECONDS)
    try:
        yield store
    except NotTheWriter:
        raise UserError(
            store.problem
            or "Another program is writing to the datastore and does not step back; close it first."
        ) from None
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror}.") from error
    finally:
        store.close()


def _progress(collection: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        show_status(f"indexing {collection}: {done:,} of {total:,}" if total else "")


def _models(models: Sequence[str]) -> str:
    return ", ".join(name.rsplit("/", 1)[-1] for name in models) or "no model known"


def _say(sentence: str) -> None:
    print(f"sssd-chat: {sentence}", file=sys.stderr)
