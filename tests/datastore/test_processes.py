"""Several processes, and several threads, with one datastore."""

from __future__ import annotations

import itertools
import os
import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sssd_chat.datastore import disk as disk_module
from sssd_chat.datastore import tidying
from sssd_chat.datastore.lock import WriterLock
from sssd_chat.datastore.segment import Segment
from sssd_chat.datastore.segment_file import write_segment
from sssd_chat.datastore.store import Datastore
from tests.datastore.children import KILLED, Child, Parent, running, start
from tests.datastore.truth import (
    UNLIMITED,
    check_followers,
    check_no_orphans,
    document,
    packed,
    stored,
    tidied,
)

ROUNDS = 40


def tokens_of(key: str) -> list[int]:
    """The tokens of each document tell which it is."""
    return [1, 2, int(key), 1, 2, int(key) + 1_000_000]


def add(store: Datastore, *keys: int) -> None:
    for key in keys:
        store.add("chats", document(str(key), tokens_of(str(key))))


def check_search(store: Datastore) -> None:
    """All that a search finds is what its document holds, whatever others do meanwhile."""
    snapshot = store.snapshot
    for result in snapshot.followers(packed([1, 2]), UNLIMITED):
        for token, segment, position in result.places:
            own = tokens_of(segment.label_at(position).key)
            assert token in own
    for info in store.collections():
        for each in store.documents(info.name):
            assert each.tokens.tolist() == tokens_of(each.label.key)


def keys(store: Datastore) -> set[str]:
    return {key for _, key in stored(store)}


def hold(folder: Path) -> Callable[[Parent], None]:
    """Writes a document, says so, and holds the lock until it is told to go on."""

    def run(parent: Parent) -> None:
        store = Datastore(folder)
        assert store.is_writer
        add(store, 100)
        parent.tell(b"w")
        parent.wait()
        store.close()

    return run


def test_a_reader_sees_what_a_writer_adds(folder: Path) -> None:
    def write(parent: Parent) -> None:
        store = Datastore(folder)
        for change in (
            lambda: add(store, 100),
            lambda: add(store, 101, 102),
            store.seal,
            lambda: add(store, 103),
            lambda: store.forget("chats", ["101"]),
            store.compact,
            store.forget_everything,
        ):
            change()
            parent.tell(b"w")
            parent.wait()
        store.close()

    with running(write) as (writer,):
        writer.wait_for_word()
        reader = Datastore(folder)
        expected = [
            {"100"},
            {"100", "101", "102"},
            {"100", "101", "102"},
            {"100", "101", "102", "103"},
            {"100", "102", "103"},
            {"100", "102", "103"},
            set[str](),
        ]
        for seen in expected:
            reader.refresh()
            tidied(reader)
            assert not reader.is_writer
            assert keys(reader) == seen
            truth = {("chats", key): tokens_of(key) for key in seen}
            check_followers(reader.snapshot, truth, [1, 2])
            assert (reader.problem, reader.check_integrity()) == ("", [])
            writer.tell()
            writer.wait_for_word()
    reader.close()


def test_what_a_reader_adds_is_its_own(folder: Path) -> None:
    with running(hold(folder)) as (writer,):
        writer.wait_for_word()
        reader = Datastore(folder)
        add(reader, 200)
        reader.refresh()
        tidied(reader)
        truth = {("chats", key): tokens_of(key) for key in ("100", "200")}
        assert stored(reader) == truth
        check_followers(reader.snapshot, truth, [1, 2])
        reader.close()
        again = Datastore(folder)
        assert keys(again) == {"100"}
        again.close()
        writer.tell()


def test_a_reader_becomes_the_writer_when_the_other_ends(folder: Path) -> None:
    with running(hold(folder)) as (writer,):
        writer.wait_for_word()
        reader = Datastore(folder)
        writer.tell()
    assert not reader.is_writer
    reader.refresh()
    assert reader.is_writer
    add(reader, 200)
    reader.close()
    again = Datastore(folder)
    assert keys(again) == {"100", "200"}
    again.close()


def test_the_lock_dies_with_its_process(folder: Path) -> None:
    writer = start(hold(folder))
    writer.wait_for_word()
    reader = Datastore(folder)
    assert not reader.is_writer
    writer.kill()
    assert writer.end()[0] == KILLED
    reader.refresh()
    assert reader.is_writer
    assert keys(reader) == {"100"}
    assert (reader.problem, reader.check_integrity()) == ("", [])
    reader.close()


def step_back(folder: Path) -> Callable[[Parent], None]:
    """Writes until another process wants to, then adds a document of its own."""

    def run(parent: Parent) -> None:
        store = Datastore(folder)
        add(store, 100)
        parent.tell(b"w")
        while store.is_writer:
            store.refresh()
        add(store, 300)
        parent.tell(b"r")
        parent.wait()
        store.refresh()
        assert not store.is_writer
        assert keys(store) == {"100", "200", "300"}
        assert store.problem == ""

    return run


def test_a_writer_steps_back_for_who_waits(folder: Path) -> None:
    with running(step_back(folder)) as (first,):
        assert first.wait_for_word() == b"w"
        second = Datastore(folder, wait=60)
        assert second.is_writer
        assert first.wait_for_word() == b"r"
        assert keys(second) == {"100"}
        add(second, 200)
        first.tell()
        assert first.read() == b""
        second.close()
    assert not (folder / "lock-wanted").exists()


def test_nobody_takes_the_lock_from_who_waits(folder: Path) -> None:
    folder.mkdir()
    request = folder / "lock-wanted"
    request.touch()
    store = Datastore(folder)
    assert (store.is_writer, store.problem) == (False, "")
    # Whoever asked that long ago does not wait any more, and nobody asks in the future.
    for wrong in (0, 1 << 33):
        os.utime(request, (wrong, wrong))
        store.refresh()
        assert store.is_writer
        store.close()
        store = Datastore(folder)
    store.close()


def test_a_closed_datastore_stays_closed(folder: Path) -> None:
    store = Datastore(folder)
    add(store, 100)
    store.close()
    store.refresh()
    assert not store.is_writer
    assert len(store.snapshot) == 0
    other = Datastore(folder)
    assert other.is_writer
    assert keys(other) == {"100"}
    other.close()


def test_waiting_ends(folder: Path) -> None:
    with running(hold(folder)) as (writer,):
        writer.wait_for_word()
        lock = WriterLock(folder)
        assert not lock.wait(0.0)
        assert not lock.is_wanted()
        writer.tell()


def hammer(folder: Path) -> Callable[[Parent], None]:
    """Writes, seals, merges and forgets without a pause."""

    def run(parent: Parent) -> None:
        store = Datastore(folder)
        assert store.is_writer
        parent.tell(b"w")
        parent.wait()
        for number in range(ROUNDS):
            add(store, *range(10 * number, 10 * number + 5))
            store.tidy()
            if number % 3 == 0:
                store.seal()
            if number % 4 == 1:
                assert store.forget("chats", [str(10 * number), str(10 * number - 9)]) == 2
            if number % 10 == 9:
                store.compact()
        assert (store.problem, store.check_integrity()) == ("", [])
        store.close()

    return run


def look_on(folder: Path) -> Callable[[Parent], None]:
    """Reads until there is nothing new."""

    def run(parent: Parent) -> None:
        store = Datastore(folder)
        parent.tell(b"r")
        parent.wait()
        last = f"{10 * ROUNDS - 6}"
        while last not in store.labels("chats"):
            store.refresh()
            if store.is_writer:
                break
            store.tidy()
            check_search(store)
            assert (store.problem, store.damage) == ("", [])
        store.close()

    return run


def test_readers_bear_with_a_busy_writer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidying, "SEAL_TOKENS", 60)
    with running(hammer(folder)) as (writer,):
        writer.wait_for_word()
        with running(look_on(folder), look_on(folder)) as readers:
            everyone: list[Child] = [*readers, writer]
            for reader in readers:
                reader.wait_for_word()
            for child in everyone:
                child.tell()
    check_no_orphans(folder)
    store = Datastore(folder)
    assert store.check_integrity() == []
    assert len(keys(store)) == 5 * ROUNDS - 2 * len(range(1, ROUNDS, 4))
    store.close()


def test_a_document_is_added_while_segments_are_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Datastore(folder)
    added = 500

    def write_slowly(path: Path, segment: Segment) -> None:
        nonlocal added
        added += 1
        answer = threading.Thread(target=add, args=(store, added))
        answer.start()
        answer.join(timeout=60)
        assert not answer.is_alive()
        check_followers(
            store.snapshot, {("chats", str(added)): tokens_of(str(added))}, [1, 2, added]
        )
        write_segment(path, segment)

    add(store, 1, 2)
    store.add("other", document("3", tokens_of("3")))
    monkeypatch.setattr(disk_module, "write_segment", write_slowly)
    store.seal()
    store.add_many("other", [document("4", tokens_of("4"))])
    store.compact()
    assert store.forget("chats", ["1"]) == 1
    expected = {"2", "3", "4", *map(str, range(501, added + 1))}
    assert added > 505
    for _ in range(2):
        assert keys(store) == expected
        assert store.check_integrity() == []
        store.close()
        store = Datastore(folder)
    store.close()


def test_threads_search_while_others_write(
    store: Datastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidying, "SEAL_TOKENS", 60)
    failures: list[BaseException] = []
    done = threading.Event()
    forgotten: set[str] = set()

    def guarded(work: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                work()
            except BaseException as error:
                failures.append(error)
                done.set()

        return run

    def search() -> None:
        while not done.is_set():
            gone = set(forgotten)
            check_search(store)
            for result in store.snapshot.followers(packed([2]), UNLIMITED, samples=UNLIMITED):
                named = {segment.label_at(at).key for _, segment, at in result.places}
                assert not named & gone

    def tidy() -> None:
        while not done.is_set():
            store.tidy()

    def write() -> None:
        chance = random.Random(5)
        there: list[int] = []
        for number in itertools.count():
            add(store, number)
            there.append(number)
            if number % 7 == 6:
                gone = [there.pop(chance.randrange(len(there))) for _ in range(2)]
                assert store.forget("chats", list(map(str, gone))) == 2
                forgotten.update(map(str, gone))
            if number == 250:
                break
        store.compact()
        done.set()
        assert keys(store) == set(map(str, there))

    threads = [
        threading.Thread(target=guarded(work)) for work in (write, search, search, tidy, tidy)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    assert (store.problem, store.check_integrity()) == ("", [])
