"""`sssd-chat datastore list`, `stats` and `check`: what there is, and whether it is whole."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from sssd_chat import paths
from sssd_chat.cli.console import duration, print_table, say, size
from sssd_chat.errors import UserError

if TYPE_CHECKING:
    from sssd_chat.datastore.info import CollectionInfo
    from sssd_chat.datastore.store import Datastore
    from sssd_chat.datastore.vocabularies import VocabularyFolder


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


def show_collections(options: argparse.Namespace) -> int:
    """`list`: what each index holds, and what that saved."""
    rows = list(_rows())
    if options.json:
        print(json.dumps([asdict(row) for row in rows]))
        return 0
    for vocabulary in dict.fromkeys(row.vocabulary for row in rows):
        own = [row for row in rows if row.vocabulary == vocabulary]
        print(f"{model_names(own[0].models)} (vocabulary {vocabulary})")
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
        say("the datastore is empty; it fills as you chat.")
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


def show_indexes(options: argparse.Namespace) -> int:
    """`stats`: segments and memory of each index."""
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
                "segments": count_segments(store),
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


def check(options: argparse.Namespace) -> int:
    """`check`: whether all files are what was written; exit code 1 if not."""
    problems = [problem for _, store in _stores() for problem in store.check_integrity()]
    if options.json:
        print(json.dumps({"problems": problems}))
    for problem in problems:
        say(f"{problem}.")
    if problems:
        say("the next chat indexes again what is missing.")
        return 1
    if not options.json:
        say("all files are as they were written.")
    return 0


def count_segments(store: Datastore) -> int:
    """Segments of all collections in an index."""
    return sum(info.segments for info in store.collections())


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


def model_names(models: Sequence[str]) -> str:
    """The models of a vocabulary, by the names of their files."""
    return ", ".join(name.rsplit("/", 1)[-1] for name in models) or "no model known"
