"""A full disk, a folder that cannot be written, no folder at all: the chat goes on."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sssd_chat.datastore import tidying
from sssd_chat.datastore.lock import WriterLock
from sssd_chat.datastore.store import Datastore
from tests.datastore.truth import (
    Key,
    check_followers,
    check_no_orphans,
    document,
    packed,
    stored,
    tidied,
)

CALLS = ("write", "open", "replace", "unlink", "ftruncate")


@dataclass
class RefusingDisk:
    """From the call of a number on, calls that change the disk fail, until it is freed."""

    at: int
    names: tuple[str, ...] = CALLS
    calls: int = 0
    is_freed: bool = False
    has_refused: bool = False
    real: dict[str, Callable[..., object]] = field(default_factory=dict)

    def arm(self, patch: pytest.MonkeyPatch) -> None:
        for name in self.names:
            self.real[name] = getattr(os, name)
            patch.setattr(os, name, self._watched(name))

    def _watched(self, name: str) -> Callable[..., object]:
        def call(*arguments: object, **options: object) -> object:
            self.calls += 1
            if self.calls <= self.at or self.is_freed:
                return self.real[name](*arguments, **options)
            if name == "write" and not self.has_refused:
                # As a disk does that has some room left.
                handle, content = arguments
                half = memoryview(content)[: len(content) // 2]  # type: ignore[arg-type]
                self.real[name](handle, half)
            self.has_refused = True
            raise OSError(errno.ENOSPC, "No space left on device")

        return call


def text(number: int) -> list[int]:
    return [1, 2, 3, 100 + number, 1, 2]


@dataclass
class Writer:
    """Uses a datastore as the chat does, and knows what it must hold."""

    store: Datastore
    truth: dict[Key, list[int]] = field(default_factory=dict)
    kept: set[Key] = field(default_factory=set)
    """What was written, as far as the datastore told."""

    def add(self, number: int, collection: str = "chats") -> None:
        before, key = self.store.problem, (collection, str(number))
        self.store._contents.problem = ""
        self.store.add(collection, document(key[1], text(number)))
        self.truth[key] = text(number)
        if not self.store.problem:
            self.kept.add(key)
        self.store._contents.problem = self.store.problem or before
        check_followers(self.store.snapshot, self.truth, [*text(number)[:4]])

    def forget(self, number: int, collection: str = "chats") -> None:
        name = (collection, str(number))
        try:
            assert self.store.forget(collection, [name[1]]) == 1
        except OSError:
            # It may be struck out already, or not be forgotten at all.
            if name not in stored(self.store):
                del self.truth[name]
                self.kept.discard(name)
        else:
            del self.truth[name]
            self.kept.discard(name)

    def script(self) -> None:
        for number in range(4):
            self.add(number)
        tidied(self.store)
        self.add(4)
        self.add(5, "starter/a")
        with contextlib.suppress(OSError):
            self.store.seal()
        self.forget(1)
        self.add(6)
        tidied(self.store)
        with contextlib.suppress(OSError):
            self.store.compact()
        with contextlib.suppress(OSError):
            self.store.add_many("many", [document("7", text(7))])
            self.truth["many", "7"] = text(7)
            self.kept.add(("many", "7"))
        self.add(8)
        assert stored(self.store) == self.truth
        assert is_sentence_or_empty(self.store.problem)

    def check_with_room(self, folder: Path) -> None:
        """All works again, and what was written is there after the next start."""
        self.add(20)
        tidied(self.store)
        self.store.seal()
        self.store.compact()
        self.forget(20)
        self.store.add_many("many", [document("21", text(21))])
        self.truth["many", "21"] = text(21)
        assert stored(self.store) == self.truth
        assert self.store.check_integrity() == []
        self.store.close()
        check_no_orphans(folder)
        again = Datastore(folder)
        assert (again.is_writer, again.problem, again.check_integrity()) == (True, "", [])
        found = stored(again)
        assert self.kept <= set(found)
        assert found.items() <= self.truth.items()
        again.close()


def is_sentence_or_empty(problem: str) -> bool:
    return not problem or re.fullmatch(r"[A-Z][^\n]*[^.\n]\.", problem) is not None


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidying, "SEAL_TOKENS", 20)


@pytest.mark.parametrize("names", [("write",), CALLS], ids=["writes", "all"])
def test_full_from_any_call_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    at, refused = 0, True
    while refused:
        writer = Writer(Datastore(folder))
        disk = RefusingDisk(at, names)
        with monkeypatch.context() as patch:
            disk.arm(patch)
            writer.script()
            refused = disk.has_refused
            assert bool(writer.store.problem) or not refused
            disk.is_freed = True
            writer.check_with_room(folder)
        shutil.rmtree(folder)
        at += 1
    assert at > 30


def test_a_disk_that_is_full_at_the_start(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Datastore(folder)
    before.add("chats", document("old", text(0)))
    before.close()
    at, refused = 0, True
    while refused:
        disk = RefusingDisk(at)
        with monkeypatch.context() as patch:
            disk.arm(patch)
            store = Datastore(folder)
            refused = disk.has_refused
            assert is_sentence_or_empty(store.problem)
            store.add("chats", document("new", text(1)))
            assert ("chats", "new") in stored(store)
            disk.is_freed = True
            store.refresh()
            assert store.is_writer
            store.forget("chats", ["new"])
            assert stored(store) == {("chats", "old"): text(0)}
            assert store.check_integrity() == []
            store.close()
        at += 1


def test_what_cannot_be_removed_is_not_called_forgotten(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    store = Datastore(folder)
    store.add("chats", document("sealed", text(1)))
    store.seal()
    store.add("chats", document("new", text(2)))
    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", fail)
        for key in ("new", "sealed"):
            with pytest.raises(OSError, match="Input/output"):
                store.forget("chats", [key])
            assert ("chats", key) not in stored(store)
            assert any(packed(text(1)) in path.read_bytes() for path in folder.iterdir())
    assert store.forget("chats", ["sealed"]) == 0
    check_no_orphans(folder)
    store.close()


@contextlib.contextmanager
def memory_disk(folder: Path, size: str) -> Iterator[None]:
    """A file system of its own."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("this user may not mount file systems")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_file_system(folder: Path) -> None:
    with memory_disk(folder, "64k"):
        writer = Writer(Datastore(folder))
        ballast = folder / "ballast"
        for size in (0, 4, 8, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56):
            with contextlib.suppress(OSError):
                ballast.write_bytes(b"x" * size * 1024)
            for number in range(100 * size, 100 * size + 30):
                writer.add(number)
                if number % 5 == 0:
                    tidied(writer.store)
            writer.forget(100 * size)
        assert "No space left" in writer.store.problem
        ballast.unlink()
        # A segment is written anew beside the old one.
        writer.store.forget_everything()
        writer.truth.clear()
        writer.kept.clear()
        writer.check_with_room(folder)


def test_a_read_only_file_system_is_read(folder: Path) -> None:
    with memory_disk(folder, "1m"):
        before = Datastore(folder)
        before.add("chats", document("sealed", text(1)))
        before.seal()
        before.add("chats", document("old", text(2)))
        before.close()
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        store = Datastore(folder)
        assert not store.is_writer
        assert "cannot be written" in store.problem
        assert is_sentence_or_empty(store.problem)
        store.refresh()
        tidied(store)
        store.add("chats", document("new", text(3)))
        truth = {
            ("chats", "sealed"): text(1),
            ("chats", "old"): text(2),
            ("chats", "new"): text(3),
        }
        assert stored(store) == truth
        check_followers(store.snapshot, truth, [2, 3])
        assert "cannot be written" in store.problem
        store.close()


def test_a_file_in_place_of_the_folder(folder: Path) -> None:
    folder.write_text("something else")
    store = Datastore(folder)
    assert not store.is_writer
    assert str(folder) in store.problem
    assert is_sentence_or_empty(store.problem)
    assert stored(store) == {}
    store.add("chats", document("new", text(1)))
    tidied(store)
    store.refresh()
    assert stored(store) == {("chats", "new"): text(1)}
    check_followers(store.snapshot, {("chats", "new"): text(1)}, [1, 2])
    for change in (store.seal, store.compact, store.forget_everything):
        with pytest.raises(PermissionError, match="another program"):
            change()
    store.close()
    assert folder.read_text() == "something else"


def test_a_reader_may_not_change_anything(folder: Path) -> None:
    folder.mkdir()
    lock = WriterLock(folder)
    assert lock.acquire()
    reader = Datastore(folder)
    assert (reader.is_writer, reader.problem) == (False, "")
    with pytest.raises(PermissionError, match="another program"):
        reader.add_many("chats", [document("new", text(1))])
    with pytest.raises(PermissionError, match="another program"):
        reader.forget("chats", ["new"])
    lock.release()
