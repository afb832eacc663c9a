"""Datastores in memory where the system has such a folder, so that nothing waits for the disk."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sssd_chat.datastore.store import Datastore
from tests.datastore.truth import FAST_FOLDER


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """No machine fails during a test, so nothing has to reach the disk itself."""
    monkeypatch.setattr(os, "fsync", lambda _handle: None)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where a datastore may lie."""
    with tempfile.TemporaryDirectory(prefix="datastore-", dir=FAST_FOLDER) as name:
        yield Path(name) / "datastore"


@pytest.fixture
def store(folder: Path) -> Iterator[Datastore]:
    """An empty datastore of which this process is the writer."""
    opened = Datastore(folder)
    assert opened.is_writer
    yield opened
    opened.close()
