"""One server for the tests that do not end it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.running import RunningServer, serving
from tests.tiny_models import CHATML_TEMPLATE, tiny_model


@pytest.fixture(scope="session")
def endless_model(models: Path) -> Path:
    """A model whose answers end at their limit alone."""
    return tiny_model(models, chat_template=CHATML_TEMPLATE)


@pytest.fixture(scope="session")
def server(
    endless_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    home = tmp_path_factory.mktemp("server-home")
    options = ("--ctx", "512", "--parallel", "4", "--temperature", "0")
    with serving(endless_model, home, *options) as running:
        yield running
