"""The corpus: files written by hand, and those that a script makes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.documents.make_corpus import make

WRITTEN = Path(__file__).parent / "corpus"


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every file of the corpus."""
    folder = tmp_path_factory.mktemp("corpus")
    make(folder)
    for path in WRITTEN.iterdir():
        shutil.copy(path, folder / path.name)
    return folder
