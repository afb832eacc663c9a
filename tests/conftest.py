"""Fixtures for the whole suite: tiny models in the real llama.cpp, and a home of one's own."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

from sssd_chat.generation.loading import EngineSettings, LoadedEngine, load_engine
from tests.tiny_models import CHATML_TEMPLATE, Architecture, tiny_model

# A busy machine is slow, and no test is about time.
hypothesis.settings.register_profile("suite", deadline=None)
hypothesis.settings.load_profile("suite")

# The suite starts the program a hundred times, and each of its processes imports all tests: who
# forbids bytecode makes all of them compile everything anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are cores: tests of terminals and servers often wait."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_finish() -> None:
    """What was imported stays to the end: the garbage collector need not walk through it each time,
    nor come as often as in a program that watches its memory."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test may touch the user's own chats."""
    folder = tmp_path / "home"
    monkeypatch.setenv("SSSD_CHAT_HOME", str(folder))
    return folder


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which tiny models are kept for the session."""
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def chat_model(models: Path) -> Path:
    """A tiny model with a ChatML template whose answers may end by themselves."""
    return tiny_model(models, chat_template=CHATML_TEMPLATE, can_end=True)


LoadTiny = Callable[..., LoadedEngine]


@pytest.fixture
def load_tiny(models: Path) -> Iterator[LoadTiny]:
    """Loads tiny models for one test; `load_tiny(architecture, context, **options)`."""
    loaded: list[LoadedEngine] = []

    def load(
        architecture: Architecture = Architecture.LLAMA,
        context: int | None = 512,
        *,
        sequences: int = 1,
        reads_ahead: bool = False,
        is_streamed: bool | None = None,
        **options: object,
    ) -> LoadedEngine:
        path = tiny_model(models, architecture, **options)  # type: ignore[arg-type]
        # One thread: a tiny model gains nothing from more, and spinning threads starve each other.
        engine = load_engine(
            EngineSettings(
                path,
                context,
                threads=1,
                sequences=sequences,
                reads_ahead=reads_ahead,
                is_streamed=is_streamed,
            )
        )
        loaded.append(engine)
        return engine

    yield load
    for engine in loaded:
        engine.close()
