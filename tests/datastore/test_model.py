"""Any interleaving of what can be done to a datastore, against a dictionary and brute force."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sssd_chat.datastore import store as store_module
from sssd_chat.datastore import tidying
from sssd_chat.datastore.store import Datastore
from tests.datastore.truth import (
    ALPHABETS,
    FAST_FOLDER,
    Key,
    check_followers,
    check_no_orphans,
    document,
    stored,
    tidied,
    token_lists,
)

collections = st.sampled_from(["chats", "starter/code"])


class DatastoreMachine(RuleBasedStateMachine):
    """Small thresholds, so that a few documents are sealed, merged, and written in batches."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = pytest.MonkeyPatch()
        self.patches.setattr(tidying, "SEAL_TOKENS", 40)
        self.patches.setattr(store_module, "BULK_TOKENS", 30)
        self.patches.setattr(os, "fsync", lambda _handle: None)
        self.folder = Path(tempfile.mkdtemp(prefix="datastore-", dir=FAST_FOLDER))
        self.store = Datastore(self.folder)
        self.truth: dict[Key, list[int]] = {}
        self.alphabet: Sequence[int] = ALPHABETS[0]
        self.next_key = 0
        self.is_checked = True

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)
        self.patches.undo()

    @initialize(alphabet=st.sampled_from(ALPHABETS))
    def choose(self, alphabet: Sequence[int]) -> None:
        self.alphabet = alphabet

    def _key(self) -> str:
        self.next_key += 1
        return f"document {self.next_key}"

    def _text(self, data: st.DataObject) -> list[int]:
        if self.truth and data.draw(st.booleans(), "repeat"):
            return list(data.draw(st.sampled_from(list(self.truth.values()))))
        return data.draw(token_lists(self.alphabet))

    @rule(collection=collections, data=st.data())
    def add(self, collection: str, data: st.DataObject) -> None:
        key, tokens = self._key(), self._text(data)
        self.store.add(collection, document(key, tokens))
        self.truth[collection, key] = tokens

    @rule(collection=collections, data=st.data(), count=st.integers(0, 5))
    def add_many(self, collection: str, data: st.DataObject, count: int) -> None:
        documents = {self._key(): self._text(data) for _ in range(count)}
        told: list[int] = []
        self.store.add_many(collection, map(document, documents, documents.values()), told.append)
        assert told == sorted(told)
        assert told[-1] == count
        self.truth |= {(collection, key): tokens for key, tokens in documents.items()}

    @rule()
    def tidy(self) -> None:
        self.store.tidy()

    @rule()
    def tidy_all(self) -> None:
        tidied(self.store)
        self.is_checked = True

    @rule()
    def seal(self) -> None:
        self.store.seal()
        assert self.store.estimate_memory().private == 0

    @rule()
    def compact(self) -> None:
        self.store.compact()
        self.is_checked = True
        assert all(info.segments == 1 for info in self.store.collections())

    @precondition(lambda self: self.truth)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        collection, _ = data.draw(st.sampled_from(sorted(self.truth)))
        keys = [key for name, key in self.truth if name == collection]
        chosen = data.draw(st.lists(st.sampled_from(keys), min_size=1, max_size=3, unique=True))
        assert self.store.forget(collection, [*chosen, "no such document"]) == len(chosen)
        for key in chosen:
            del self.truth[collection, key]

    @rule(collection=collections)
    def forget_collection(self, collection: str) -> None:
        kept = {name: tokens for name, tokens in self.truth.items() if name[0] != collection}
        assert self.store.forget_collection(collection) == len(self.truth) - len(kept)
        self.truth = kept

    @rule()
    def forget_everything(self) -> None:
        assert self.store.forget_everything() == len(self.truth)
        self.truth = {}

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = Datastore(self.folder)
        assert self.store.is_writer
        self.is_checked = False

    @precondition(lambda self: self.truth)
    @rule(data=st.data())
    def search(self, data: st.DataObject) -> None:
        if not self.is_checked:
            # A file is searched only after its checksum was looked at.
            self.tidy_all()
        text = data.draw(st.sampled_from(list(self.truth.values())))
        context = text[: data.draw(st.integers(0, len(text)))]
        context += data.draw(st.lists(st.sampled_from(self.alphabet), max_size=2))
        check_followers(self.store.snapshot, self.truth, context)

    @invariant()
    def agrees(self) -> None:
        assert self.store.problem == ""
        assert self.store.check_integrity() == []
        assert stored(self.store) == self.truth
        if self.is_checked:
            assert len(self.store.snapshot) == sum(len(t) + 1 for t in self.truth.values())
        check_no_orphans(self.folder)


TestDatastoreMachine = DatastoreMachine.TestCase
TestDatastoreMachine.settings = settings(
    max_examples=80,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
