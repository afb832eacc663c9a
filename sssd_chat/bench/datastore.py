"""How fast a datastore of so many tokens is built, grows, is searched and is opened.

The text is made up (see SyntheticText); making it is never timed. What is searched for is the text
of the same process with another seed, so some contexts match at full length and some hardly at
all. Every context is searched once before anything is timed: the files are in memory then, as
they are after the first questions of a chat.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from sssd_chat.bench.synthetic import DOCUMENT_TOKENS, SyntheticText
from sssd_chat.datastore.document import CHATS, Document
from sssd_chat.datastore.snapshot import LONGEST
from sssd_chat.datastore.store import BULK_TOKENS, Datastore
from sssd_chat.datastore.suffix_array import sort_suffixes
from sssd_chat.drafting.evidence import MOST_CANDIDATES

ANSWERS = 200
"""Answers that are added one by one."""
QUERIES = 4000
REPEATS = 3
"""Times that each context is searched; the fastest counts, because other programs interrupt."""
_UNLIMITED = 1 << 30

Progress = Callable[[str], None]
"""Is told what is done at the time."""


@dataclass(frozen=True, slots=True)
class Times:
    """How long something took, many times."""

    median: float
    p99: float
    longest: float

    @staticmethod
    def of(seconds: Sequence[float], unit: float) -> Times:
        """Times in a unit of so many seconds."""
        values = sorted(second / unit for second in seconds)
        p99 = values[min(len(values) - 1, len(values) * 99 // 100)]
        return Times(statistics.median(values), p99, values[-1])


@dataclass(frozen=True, slots=True)
class BuildSpeed:
    """Tokens a second."""

    sorting: float
    """Of a million tokens, by themselves."""
    adding: float
    """Sorted, checked and on the disk."""
    overall: float
    """With all merging."""


@dataclass(frozen=True, slots=True)
class Searching:
    """What a datastore is like to a search, at one time."""

    segments: int
    """That were searched, those in memory included."""
    bytes_per_token: float
    """On the disk."""
    matched: float
    """Tokens of a context that were found together, on average."""
    every_length_us: Times
    """One context, all suffixes of up to 8 tokens."""
    drafting_us: Times
    """One context, until there are as many candidates as the drafter looks at."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What a fresh process needs to open a datastore."""

    ms: float
    private_bytes: int
    """Memory that no other process shares, after the opening less before it."""


@dataclass(frozen=True, slots=True)
class DatastoreReport:
    """All that was measured."""

    tokens: int
    collections: int
    build: BuildSpeed
    answer_ms: Times
    """Adding one answer of 500 tokens."""
    grown: Searching
    """With the answers."""
    opening: Opening
    compact_seconds: float
    compacted: Searching


def measure(tokens: int, collections: int = 1, progress: Progress | None = None) -> DatastoreReport:
    """Builds a datastore in a temporary folder and measures it. Raises OSError when the disk
    refuses."""
    tell = progress or (lambda _: None)
    with tempfile.TemporaryDirectory(prefix="sssd-chat-bench-") as name:
        folder = Path(name) / "datastore"
        store = Datastore(folder)
        build = _build(store, tokens, collections, tell)
        tell("adding answers")
        answer_ms = _add_answers(store)
        contexts = _contexts()
        tell("searching")
        grown = _search(store, contexts)
        store.close()
        tell("opening")
        opening = _open(folder)
        tell("compacting")
        store = Datastore(folder)
        compact_seconds = _timed(store.compact)
        tell("searching")
        compacted = _search(store, contexts)
        store.close()
    return DatastoreReport(
        tokens, collections, build, answer_ms, grown, opening, compact_seconds, compacted
    )


def _build(store: Datastore, tokens: int, collections: int, tell: Progress) -> BuildSpeed:
    sorting = adding = 0.0
    done = 0
    for number, batch in enumerate(_batches(tokens, collections)):
        tell(f"building: {done / tokens:.0%}")
        name = f"collection {number % collections}"
        if number == 0:
            text = np.concatenate([document.tokens for document in batch])
            sorting = len(text) / _timed(sort_suffixes, text)
        adding += _timed(store.add_many, name, batch)
        done += sum(len(document.tokens) for document in batch)
    tell("merging")
    merging = _timed(_tidy, store)
    return BuildSpeed(sorting, done / adding, done / (adding + merging))


def _batches(tokens: int, collections: int) -> Iterator[list[Document]]:
    """Documents, as many together as `add_many` writes into one segment."""
    text = SyntheticText(seed=1)
    left = -(-tokens // DOCUMENT_TOKENS)
    most = min(BULK_TOKENS // (DOCUMENT_TOKENS + 1), -(-left // collections))
    number = 0
    while left:
        batch = text.documents(min(most, left))
        left -= len(batch)
        yield [Document.of(str(number + at), each) for at, each in enumerate(batch)]
        number += len(batch)


def _add_answers(store: Datastore) -> Times:
    seconds = []
    for number, tokens in enumerate(SyntheticText(seed=2).documents(ANSWERS)):
        answer = Document.of(f"answer {number}", tokens)
        seconds.append(_timed(store.add, CHATS, answer))
        # Upkeep is the work of another thread between two answers.
        _tidy(store)
    return Times.of(seconds, 1e-3)


def _tidy(store: Datastore) -> None:
    while store.tidy():
        pass


def _contexts() -> list[bytes]:
    text = SyntheticText(seed=3).documents(100)
    step = (DOCUMENT_TOKENS - LONGEST) * len(text) // QUERIES
    return [
        tokens[end - LONGEST : end].astype(">u4").tobytes()
        for tokens in text
        for end in range(LONGEST, DOCUMENT_TOKENS, step)
    ]


def _search(store: Datastore, contexts: Sequence[bytes]) -> Searching:
    snapshot = store.snapshot
    matched = [
        max((result.length for result in snapshot.followers(context, _UNLIMITED)), default=0)
        for context in contexts
    ]
    every = [_fastest(snapshot.followers, context, _UNLIMITED) for context in contexts]
    drafting = [_fastest(snapshot.followers, context, MOST_CANDIDATES) for context in contexts]
    on_disk = sum(path.stat().st_size for path in store.folder.iterdir())
    return Searching(
        len(snapshot.segments),
        on_disk / sum(info.tokens for info in store.collections()),
        statistics.mean(matched),
        Times.of(every, 1e-6),
        Times.of(drafting, 1e-6),
    )


def _open(folder: Path) -> Opening:
    code = f"from {__name__} import print_opening; print_opening({str(folder)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return Opening(**json.loads(done.stdout))


def print_opening(folder: str) -> None:
    """Opens a datastore and prints what that took as JSON; meant for a process of its own."""
    process = psutil.Process()
    before = process.memory_full_info().uss
    start = time.perf_counter()
    store = Datastore(Path(folder))
    seconds = time.perf_counter() - start
    private = process.memory_full_info().uss - before
    store.close()
    sys.stdout.write(json.dumps({"ms": seconds * 1e3, "private_bytes": private}))


def _fastest(work: Callable[..., object], *arguments: object) -> float:
    return min(_timed(work, *arguments) for _ in range(REPEATS))


def _timed(work: Callable[..., object], *arguments: object) -> float:
    start = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - start
