"""A process killed at every call that changes the disk: no acknowledged document is lost, none
that was forgotten is there."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from sssd_chat.datastore import store as store_module
from sssd_chat.datastore import tidying
from sssd_chat.datastore.manifest import load_manifest
from sssd_chat.datastore.store import Datastore
from tests.datastore.children import KILLED, Parent, start
from tests.datastore.truth import Key, check_no_orphans, document, stored, tidied

CALLS = ("write", "fsync", "replace", "rename", "unlink", "ftruncate")
ALL_KEYS = [f"d{number}" for number in range(1, 21)]


def tokens_of(key: str) -> list[int]:
    """Tokens that no other document has, between some that all have."""
    own = 1000 + 100 * int(key[1:])
    return [1, 2, 3, own, own + 1, own + 2, 1, 2]


@dataclass(frozen=True)
class Step:
    """One operation, and the documents that it adds and takes away."""

    run: Callable[[Datastore], object]
    added: tuple[Key, ...] = ()
    forgotten: tuple[Key, ...] = ()


def add(collection: str, *keys: str) -> list[Step]:
    def step(key: str) -> Step:
        return Step(
            lambda store: store.add(collection, document(key, tokens_of(key))), ((collection, key),)
        )

    return list(map(step, keys))


def add_many(collection: str, *keys: str) -> Step:
    def run(store: Datastore) -> None:
        store.add_many(collection, (document(key, tokens_of(key)) for key in keys))

    return Step(run, tuple((collection, key) for key in keys))


def forget(collection: str, *keys: str) -> Step:
    names = tuple((collection, key) for key in keys)
    return Step(lambda store: store.forget(collection, keys), (), names)


def reopen_after_a_crash(store: Datastore) -> None:
    """What a crash may leave: a cut record, and files that belong to no state."""
    folder = store.folder
    store.close()
    with (folder / load_manifest(folder).journal).open("ab") as journal:
        journal.write(b"\x10\0\0\0 cut")
    (folder / "00009999.segment").write_bytes(b"orphan")
    (folder / ".manifest.json.abc").write_bytes(b"orphan")
    # Opened over the old one, which the script goes on with.
    store.__init__(folder)  # type: ignore[misc]


SEAL = Step(Datastore.seal)
COMPACT = Step(Datastore.compact)
TIDY = Step(tidied)
SCRIPTS = {
    "sealing": [
        *add("a", "d1", "d2"),
        *add("b", "d3"),
        SEAL,
        *add("a", "d4", "d5"),
        forget("a", "d1", "d4"),
        SEAL,
        *add("b", "d6"),
        TIDY,
    ],
    "forgetting": [
        add_many("a", "d7", "d8", "d9", "d10", "d11"),
        Step(reopen_after_a_crash),
        *add("b", "d12"),
        forget("a", "d8", "d9"),
        COMPACT,
        *add("a", "d13"),
        *add("b", "d14"),
        Step(lambda store: store.forget_collection("a"), (), tuple(("a", k) for k in ALL_KEYS)),
    ],
    "emptying": [
        *add("b", "d15", "d16", "d17", "d18", "d19"),
        TIDY,
        Step(Datastore.forget_everything, (), tuple(("b", key) for key in ALL_KEYS)),
        *add("a", "d20"),
    ],
}
"""Each goes on with what the one before it left."""


@dataclass
class Killer:
    """Kills this process at the call of a number."""

    at: int
    is_half: bool
    """Whether only writes are counted, and the last one writes half of its buffer."""
    calls: int = 0
    real: dict[str, Callable[..., object]] = field(default_factory=dict)

    def arm(self) -> None:
        """Watches all calls that change the disk."""
        for name in ("write",) if self.is_half else CALLS:
            self.real[name] = getattr(os, name)
            setattr(os, name, self._watched(name))

    def _watched(self, name: str) -> Callable[..., object]:
        def call(*arguments: object, **options: object) -> object:
            if self.calls == self.at:
                if self.is_half:
                    handle, content = arguments
                    half = memoryview(content)[: len(content) // 2]  # type: ignore[arg-type]
                    self.real[name](handle, half)
                os.kill(os.getpid(), signal.SIGKILL)
            self.calls += 1
            return self.real[name](*arguments, **options)

        return call


def follow(folder: Path, script: list[Step], killer: Killer) -> Callable[[Parent], None]:
    def run(parent: Parent) -> None:
        killer.arm()
        store = Datastore(folder)
        for step in script:
            step.run(store)
            parent.tell(b".")

    return run


def outcome(before: set[Key], script: list[Step]) -> set[Key]:
    """The documents that are there when all of the script was done."""
    for step in script:
        before = (before | set(step.added)) - set(step.forgotten)
    return before


def prepare(folder: Path, name: str) -> set[Key]:
    """Does the scripts before the one of this name; returns the documents that are there then."""
    there: set[Key] = set()
    store = Datastore(folder)
    for earlier, script in SCRIPTS.items():
        if earlier == name:
            break
        for step in script:
            step.run(store)
        there = outcome(there, script)
    store.close()
    return there


def keys_on_disk(folder: Path) -> set[str]:
    """The documents whose own tokens any file holds."""
    content = b"".join(path.read_bytes() for path in folder.iterdir())
    own = {key: np.array(tokens_of(key)[3:6], np.uint32) for key in ALL_KEYS}
    return {
        key
        for key, tokens in own.items()
        if any(tokens.astype(kind).tobytes() in content for kind in ("<u4", ">u4"))
    }


def check_after(folder: Path, before: set[Key], done: list[Step], cut: Step | None) -> None:
    """Opens what a killed process left. It had done some steps, and `cut` was not finished."""
    sure = outcome(before, done)
    possible = sure | set(cut.added if cut else ())
    sure -= set(cut.forgotten if cut else ())
    for _ in range(2):
        store = Datastore(folder)
        assert store.is_writer
        assert (store.problem, store.check_integrity()) == ("", [])
        found = stored(store)
        assert sure <= set(found) <= possible
        assert all(tokens == tokens_of(key) for (_, key), tokens in found.items())
        tidied(store)
        assert stored(store) == found
        check_no_orphans(folder)
        assert keys_on_disk(folder) == {key for _, key in found}
        store.close()
        # What was found once stays.
        sure = possible = set(found)


@pytest.mark.parametrize("is_half", [False, True], ids=["between", "half-written"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_killed_at_every_call(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, is_half: bool
) -> None:
    monkeypatch.setattr(tidying, "SEAL_TOKENS", 40)
    monkeypatch.setattr(store_module, "BULK_TOKENS", 20)
    script = SCRIPTS[name]
    prepared = folder.with_name("prepared")
    before = prepare(prepared, name)
    killed = 0
    while True:
        shutil.copytree(prepared, folder)
        code, told = start(follow(folder, script, Killer(killed, is_half))).end()
        assert code in (0, KILLED), told
        done = len(told)
        try:
            check_after(folder, before, script[:done], script[done] if code else None)
        except AssertionError as error:
            raise AssertionError(f"killed at call {killed}, {done} steps done") from error
        shutil.rmtree(folder)
        if code == 0:
            break
        killed += 1
    assert done == len(script)
    assert killed > (10 if is_half else 40)
