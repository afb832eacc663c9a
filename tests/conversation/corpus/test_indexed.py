"""The index of a collection is made from its texts, whatever happened before."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sssd_chat.conversation import indexing
from sssd_chat.conversation.corpus import ImportProgress, Stage, index_collection, indexed
from sssd_chat.conversation.learning import Learner, LearningSettings
from sssd_chat.datastore import store as store_module
from sssd_chat.datastore.store import Datastore
from sssd_chat.datastore.texts import StoredText, TextStore
from sssd_chat.errors import UserError
from tests.conversation.spelling import Spelling


@pytest.fixture
def texts(tmp_path: Path) -> Iterator[TextStore]:
    with contextlib.closing(TextStore(tmp_path / "texts.db")) as opened:
        yield opened


def content(index: Path) -> dict[str, int]:
    with contextlib.closing(Datastore(index)) as store:
        assert store.check_integrity() == []
        return {d.label.key: len(d.tokens) for d in store.documents("own")}


def put(texts: TextStore, **documents: str) -> None:
    texts.put("own", [StoredText(name, text, text[:8]) for name, text in documents.items()])


@pytest.mark.parametrize("threads", [1, 3])
def test_the_index_follows_the_texts(texts: TextStore, tmp_path: Path, threads: int) -> None:
    put(texts, a="first", b="second")
    index = tmp_path / "index"
    assert index_collection(texts, "own", index, Spelling(), threads=threads) == 11
    put(texts, b="changed", c="third")
    texts.remove("own", ["a"])
    assert index_collection(texts, "own", index, Spelling(), threads=threads) == 12
    assert content(index) == {"b": 7, "c": 5}


@pytest.mark.parametrize("threads", [1, 2])
def test_many_texts_come_in_order(
    texts: TextStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    monkeypatch.setattr(indexing, "_BATCH_CHARACTERS", 50)
    monkeypatch.setattr(indexing, "_BATCHES_AHEAD", 2)
    monkeypatch.setattr(indexing, "SEAL_TOKENS", 100)
    monkeypatch.setattr(store_module, "BULK_TOKENS", 300)
    put(texts, **{f"d{n:03}": "x" * (n % 40 + 1) for n in range(100)})
    seen: list[ImportProgress] = []
    index_collection(
        texts, "own", tmp_path / "index", Spelling(), threads=threads, on_progress=seen.append
    )
    assert content(tmp_path / "index") == {f"d{n:03}": n % 40 + 1 for n in range(100)}
    assert [progress.done for progress in seen] == list(range(1, 101))
    assert seen[-1].stage is Stage.INDEXING and seen[-1].share == 1.0
    assert seen[-1].tokens == sum(n % 40 + 1 for n in range(100))


def test_stopping_keeps_what_is_done(
    texts: TextStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "SEAL_TOKENS", 20)
    monkeypatch.setattr(store_module, "BULK_TOKENS", 50)
    put(texts, **{f"d{n}": "x" * 19 for n in range(9)})
    cancelled = threading.Event()

    def stop(progress: ImportProgress) -> None:
        if progress.done == 7:
            cancelled.set()

    index = tmp_path / "index"
    assert (
        index_collection(
            texts, "own", index, Spelling(), cancelled=cancelled, on_progress=stop, threads=2
        )
        is None
    )
    assert len(content(index)) == 6
    assert index_collection(texts, "own", index, Spelling()) == 9 * 19
    assert len(content(index)) == 9


def test_another_program_that_writes(
    texts: TextStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexed, "_WAIT_SECONDS", 0.1)
    put(texts, a="first")
    with (
        contextlib.closing(Datastore(tmp_path / "index")),
        pytest.raises(UserError, match=r"not indexed yet.*another program"),
    ):
        index_collection(texts, "own", tmp_path / "index", Spelling())
    assert index_collection(texts, "own", tmp_path / "index", Spelling()) == 5


def test_a_disk_that_refuses(
    texts: TextStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(texts, a="x" * 100)
    monkeypatch.setattr(indexing, "SEAL_TOKENS", 20)

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Datastore, "add_many", refuse)
    with pytest.raises(UserError, match=r"not indexed yet.*No space left"):
        index_collection(texts, "own", tmp_path / "index", Spelling())
    monkeypatch.undo()
    assert index_collection(texts, "own", tmp_path / "index", Spelling()) == 100


def test_an_open_chat_steps_back_and_finds_the_collection(texts: TextStore, tmp_path: Path) -> None:
    index = tmp_path / "index"
    store = Datastore(index)
    settings = LearningSettings(
        tmp_path / "history.db", tmp_path / "texts.db", tmp_path / "savings.json", starters=False
    )
    learner = Learner(store, Spelling(), settings)
    learner.start()
    try:
        put(texts, a="first", b="second")
        assert index_collection(texts, "own", index, Spelling()) == 11
        until = time.monotonic() + 20
        while not store.is_writer or "b" not in store.labels("own"):
            assert time.monotonic() < until
            time.sleep(0.01)
        assert not learner.problem
    finally:
        learner.close()
        store.close()
    assert content(index) == {"a": 5, "b": 6}
