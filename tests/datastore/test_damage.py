"""A flipped byte anywhere is told, costs the documents of its file alone, and is made up for."""

from __future__ import annotations

import errno
import os
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sssd_chat.datastore.lock import WriterLock
from sssd_chat.datastore.manifest import NAME, load_manifest, save_manifest
from sssd_chat.datastore.segment_file import HEADER_BYTES
from sssd_chat.datastore.store import Datastore
from tests.datastore.truth import (
    Key,
    check_followers,
    check_no_orphans,
    document,
    random_documents,
    stored,
    tidied,
)

FLIPS_IN_A_FILE = 25


@pytest.fixture
def whole(folder: Path) -> dict[Key, list[int]]:
    """A datastore of two segments and a journal, in `folder`; returns its documents."""
    truth = {name: list(tokens) for name, tokens in random_documents(3, 9).items()}
    store = Datastore(folder)
    for number, ((collection, key), tokens) in enumerate(truth.items()):
        if number in (4, 7):
            store.seal()
        store.add(collection, document(key, tokens))
    store.close()
    return truth


def files_of(folder: Path) -> list[str]:
    manifest = load_manifest(folder)
    return [NAME, manifest.journal, *(entry.file for entry in manifest.segments)]


def keys_in(file: str, folder: Path) -> set[str]:
    """The documents that a damaged file may cost."""
    places = files_of(folder)
    groups = [map(str, range(9)), "78", "0123", "456"]
    return set(groups[places.index(file)])


def flip(path: Path, at: int, mask: int = 0x20) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= mask
    path.write_bytes(content)


@contextmanager
def opened(folder: Path, is_reader: bool) -> Iterator[Datastore]:
    """A datastore that another program writes to meanwhile, or not."""
    other = WriterLock(folder)
    assert not is_reader or other.acquire()
    store = Datastore(folder)
    assert store.is_writer != is_reader
    yield store
    store.close()
    if is_reader:
        other.release()


@pytest.mark.parametrize("number", range(4), ids=["manifest", "journal", "older", "newer"])
@pytest.mark.parametrize("is_reader", [False, True], ids=["writer", "reader"])
def test_a_flipped_byte_costs_its_file_alone(
    folder: Path, whole: dict[Key, list[int]], number: int, is_reader: bool
) -> None:
    file = files_of(folder)[number]
    lost = keys_in(file, folder)
    pristine = folder.with_name("pristine")
    shutil.copytree(folder, pristine)
    size = (folder / file).stat().st_size
    chance = random.Random(number)
    for at in sorted(chance.sample(range(size), FLIPS_IN_A_FILE)):
        flip(folder / file, at, 1 << chance.randrange(8))
        with opened(folder, is_reader) as store:
            assert len(store.check_integrity()) >= 1
            # No file is searched before its checksum was looked at.
            assert not any(segment.file for segment in store.snapshot.segments)
            tidied(store)
            assert file not in {segment.file for segment in store.snapshot.segments}
            damage = store.check_integrity()
            assert str(folder / file) in damage[0]
            assert len(set(damage)) == len(damage)
            left = stored(store)
            assert {key for _, key in whole} - {key for _, key in left} <= lost
            assert left.items() <= whole.items()
            assert len(left) < len(whole)
            for name in whole.keys() - left.keys():
                store.add(name[0], document(name[1], whole[name]))
            tidied(store)
            assert stored(store) == whole
            check_followers(store.snapshot, whole, whole["chats", "8"][:8])
        if not is_reader:
            check_no_orphans(folder)
            with opened(folder, is_reader=False) as again:
                assert (again.problem, again.check_integrity()) == ("", [])
                assert stored(again) == whole
        shutil.rmtree(folder)
        shutil.copytree(pristine, folder)


@pytest.mark.parametrize("is_reader", [False, True], ids=["writer", "reader"])
@pytest.mark.parametrize("at", [5, HEADER_BYTES + 5, -5], ids=["head", "tokens", "labels"])
def test_several_damaged_files_are_set_aside_together(
    folder: Path, whole: dict[Key, list[int]], is_reader: bool, at: int
) -> None:
    _, *files = files_of(folder)
    for file in files:
        flip(folder / file, at)
    with opened(folder, is_reader) as store:
        tidied(store)
        damage = store.check_integrity()
        assert len(damage) == len(files)
        assert all(any(file in each for each in damage) for file in files)
        for name in whole.keys() - stored(store).keys():
            store.add(name[0], document(name[1], whole[name]))
        assert stored(store) == whole
    if not is_reader:
        with opened(folder, is_reader=False) as again:
            assert (again.problem, again.check_integrity()) == ("", [])
            assert stored(again) == whole


def test_a_missing_segment_is_told(folder: Path, whole: dict[Key, list[int]]) -> None:
    file = files_of(folder)[2]
    (folder / file).unlink()
    with opened(folder, is_reader=True) as reader:
        assert "missing" in reader.check_integrity()[0]
        assert {key for _, key in stored(reader)} == set("45678")
    with opened(folder, is_reader=False) as store:
        assert "missing" in store.check_integrity()[0]
        assert file in store.problem
        assert {key for _, key in stored(store)} == set("45678")
    with opened(folder, is_reader=False) as again:
        assert again.check_integrity() == []


def test_forgetting_does_not_bless_damaged_tokens(
    folder: Path, whole: dict[Key, list[int]]
) -> None:
    file = files_of(folder)[2]
    flip(folder / file, HEADER_BYTES + 5)
    with opened(folder, is_reader=False) as store:
        assert store.forget("chats", ["1"]) == 1
        assert {key for _, key in stored(store)} == set("45678")
        assert file in store.damage[0]
        for key in "023":
            store.add("chats", document(key, whole["chats", key]))
        store.compact()
    del whole["chats", "1"]
    with opened(folder, is_reader=False) as again:
        assert stored(again) == whole
        assert again.check_integrity() == []


def test_damage_found_on_a_full_disk_stops_nothing(
    folder: Path, whole: dict[Key, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    flip(folder / files_of(folder)[2], HEADER_BYTES + 5)
    with opened(folder, is_reader=False) as store:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", fail)
            tidied(store)
            assert {key for _, key in stored(store)} == set("45678")
            assert "No space" in store.problem
            store.add("chats", document("new", [1]))
        assert store.forget("chats", ["4"]) == 1
        store.compact()
        tidied(store)
        assert {key for _, key in stored(store)} == {*"5678", "new"}
    with opened(folder, is_reader=False) as again:
        assert {key for _, key in stored(again)} == set("5678")
        assert again.check_integrity() == []


def test_a_later_format_is_told(folder: Path, whole: dict[Key, list[int]]) -> None:
    content = (folder / NAME).read_text()
    state = content.replace('\\"format\\":1', '\\"format\\":2')
    assert state != content
    (folder / NAME).write_text(state)
    with opened(folder, is_reader=True) as reader:
        assert "manifest" in reader.check_integrity()[0]


def test_a_manifest_never_names_files_elsewhere(folder: Path, whole: dict[Key, list[int]]) -> None:
    manifest = load_manifest(folder)
    save_manifest(folder, type(manifest)(manifest.segments, "../other.journal", 9))
    other = folder.with_name("other.journal")
    other.write_bytes(b"something else")
    with opened(folder, is_reader=False) as store:
        assert "strange files" in store.check_integrity()[0]
    assert other.read_bytes() == b"something else"
