"""Kept states come back whole or not at all, stay within their limit, and can be forgotten."""

from __future__ import annotations

import array
import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

from sssd_chat.conversation.known_text import KnownText
from sssd_chat.conversation.state_cache import KeptState, StateCache

DATA = random.Random(1).randbytes(50_000)


def state(chat: int = 1, key: str = "model", data: bytes = DATA) -> KeptState:
    known = KnownText().followed_by("a question \ud800 \U000f0000", [7, 8, 9]).followed_by("!", [3])
    return KeptState(
        key, chat, 2, known, {"<|im_end|>": "\U000f0000"}, (7, 8, 9, 3, -1), memoryview(data)
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "states"


@pytest.fixture
def cache(folder: Path) -> StateCache:
    return StateCache(folder, 1)


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.exists() else []


def test_a_state_comes_back_as_it_was(cache: StateCache) -> None:
    cache.store(state())
    found = cache.find("model", 1)
    assert found is not None
    assert replace(found, data=memoryview(b"")) == replace(state(), data=memoryview(b""))
    assert found.data == DATA


def test_only_its_own_chat_and_model_find_it(cache: StateCache) -> None:
    cache.store(state())
    assert cache.find("model", 2) is None
    assert cache.find("another model", 1) is None
    assert cache.find("model", 1) is not None


def test_a_file_in_the_wrong_place_is_not_used(cache: StateCache, folder: Path) -> None:
    cache.store(state())
    (path,) = files(folder)
    path.rename(path.with_name(path.name.replace("-1.", "-2.")))
    assert cache.find("model", 2) is None
    assert files(folder) == []


def test_no_damage_gets_through(cache: StateCache, folder: Path) -> None:
    cache.store(state(data=DATA[:500]))
    (path,) = files(folder)
    whole = path.read_bytes()
    rng = random.Random(4)
    damaged = [whole[:length] for length in range(0, len(whole), 7)]
    for _ in range(200):
        place = rng.randrange(len(whole))
        damaged.append(
            whole[:place] + bytes([whole[place] ^ rng.randrange(1, 256)]) + whole[place + 1 :]
        )
    damaged += [whole + b"more", b"", rng.randbytes(1000)]
    for content in damaged:
        path.write_bytes(content)
        assert cache.find("model", 1) is None
        assert files(folder) == [], "what is of no use does not take up space"


def test_the_one_not_used_for_longest_goes_first(cache: StateCache, folder: Path) -> None:
    for chat in (1, 2, 3):
        cache.store(state(chat, data=bytes(300_000)))
        for age, path in enumerate(files(folder)):
            os.utime(path, ns=(age + 1, path.stat().st_mtime_ns - 10**9))
    assert cache.find("model", 1) is not None
    cache.store(state(4, data=bytes(300_000)))
    assert cache.find("model", 2) is None
    for chat in (1, 3, 4):
        assert cache.find("model", chat) is not None
    assert sum(path.stat().st_size for path in files(folder)) <= 1_000_000


def test_a_new_state_of_a_chat_replaces_the_old_one(cache: StateCache, folder: Path) -> None:
    for size in (900_000, 100, 900_000):
        cache.store(state(data=bytes(size)))
        found = cache.find("model", 1)
        assert found is not None and len(found.data) == size
    assert len(files(folder)) == 1


def test_what_is_larger_than_the_cache_is_not_kept(cache: StateCache, folder: Path) -> None:
    cache.store(state(2))
    cache.store(state(data=bytes(1_000_000)))
    assert cache.find("model", 1) is None
    assert cache.find("model", 2) is not None


def test_a_cache_of_no_size_keeps_and_finds_nothing(cache: StateCache, folder: Path) -> None:
    StateCache(folder, 0).store(state())
    assert files(folder) == []
    cache.store(state())
    assert StateCache(folder, 0).find("model", 1) is None


def test_a_forgotten_chat_leaves_no_token_behind(cache: StateCache, folder: Path) -> None:
    for chat in (1, 11, 21):
        for key in ("model", "another model"):
            cache.store(state(chat, key))
    unfinished = folder / f".{files(folder)[0].name}.abc"
    unfinished.write_bytes(array.array("i", [7, 8, 9]).tobytes())
    for path in files(folder):
        if path.name.endswith("-1.state"):
            (folder / f".{path.name}.abc").write_bytes(path.read_bytes())
    cache.forget(1)
    assert sorted({path.name.split("-")[1].split(".")[0] for path in files(folder)}) in (
        ["11", "21"],
        ["1", "11", "21"][1:],
    )
    assert cache.find("model", 11) is not None
    cache.clear()
    assert files(folder) == []
    cache.forget(1)


def test_only_the_owner_can_read(cache: StateCache, folder: Path) -> None:
    cache.store(state())
    assert folder.stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in files(folder))


def test_leftovers_of_a_program_that_was_killed_go(cache: StateCache, folder: Path) -> None:
    cache.store(state(1))
    old, new = folder / ".x-9.state.old", folder / ".x-9.state.new"
    for path in (old, new):
        path.write_bytes(b"tokens")
    os.utime(old, (1, 1))
    cache.store(state(2))
    assert not old.exists()
    assert new.exists(), "another program may be writing it"


def test_a_disk_that_refuses_costs_nothing_but_the_state(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    cache = StateCache(tmp_path / "file" / "states", 1)
    cache.store(state())
    assert cache.find("model", 1) is None
