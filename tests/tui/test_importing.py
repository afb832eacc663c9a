"""Importing documents while the chat goes on."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Button, Input

from sssd_chat import paths
from sssd_chat.conversation.corpus import ImportProgress, ImportReport, Stage, importing
from sssd_chat.conversation.corpus.report import FileNote
from sssd_chat.conversation.events import ModelReady
from sssd_chat.datastore.store import Datastore
from sssd_chat.llama.model import open_vocabulary
from sssd_chat.tui.app import ChatApp
from sssd_chat.tui.screens.chat import ChatScreen
from sssd_chat.tui.screens.importing import ImportScreen, outcome, progress_line
from tests.conversation.corpus.reading import read_here
from tests.tui.fake_backend import MODEL, FakeBackend, wait_until
from tests.tui.screen import ask_and_answer, shows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.txt").write_text(f"paper number {number}")
    return folder


@pytest.fixture
def backend(chat_model: Path) -> FakeBackend:
    backend = FakeBackend(None)
    backend.put(ModelReady(dataclasses.replace(MODEL, path=str(chat_model))))
    return backend


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Reading waits until it is set."""
    gate = threading.Event()

    def waiting(*places: object, **options: object) -> Iterator[object]:
        for event in read_here(*places, **options):  # type: ignore[arg-type]
            yield event
            if isinstance(event, importing.FileRead):
                gate.wait(20)

    monkeypatch.setattr(importing, "read_files", waiting)
    yield gate
    gate.set()


async def opened(pilot: Pilot[None], backend: FakeBackend) -> None:
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))
    await wait_until(pilot, lambda: backend.started and backend.idle)
    await pilot.pause()
    await pilot.press("f3")
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, ImportScreen))


async def begin(pilot: Pilot[None], path: Path | str, name: str = "") -> None:
    pilot.app.screen.query_one("#path", Input).value = str(path)
    pilot.app.screen.query_one("#collection", Input).value = name
    pilot.app.screen.query_one("#collection", Input).focus()
    await pilot.press("enter")


@pytest.mark.parametrize("typed", [".", "{0}/.", "'{0}'", "{1}/my\\ papers"])
async def test_a_folder_may_be_written_in_many_ways(
    typed: str,
    backend: FakeBackend,
    folder: Path,
    gate: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate.set()
    folder = folder.rename(folder.with_name("my papers"))
    monkeypatch.chdir(folder)
    async with ChatApp(backend).run_test(size=(100, 30)) as pilot:
        await opened(pilot, backend)
        await begin(pilot, typed.format(folder, folder.parent))
        await wait_until(pilot, lambda: shows(pilot, "3 files read."), 20)
        await wait_until(pilot, lambda: shows(pilot, "tokens of my papers to draft from."))


async def test_a_folder_is_imported(
    backend: FakeBackend, folder: Path, chat_model: Path, gate: threading.Event
) -> None:
    gate.set()
    async with ChatApp(backend).run_test(size=(100, 30)) as pilot:
        await opened(pilot, backend)
        await begin(pilot, folder)
        await wait_until(pilot, lambda: shows(pilot, "3 files read."), 20)
        await wait_until(pilot, lambda: shows(pilot, "tokens of papers to draft from."))
        await pilot.press("escape")
    with open_vocabulary(chat_model) as vocabulary:
        index = paths.datastore_folder() / vocabulary.fingerprint
    with contextlib.closing(Datastore(index)) as store:
        assert len(store.labels("papers")) == 3


async def test_the_chat_goes_on_meanwhile(
    backend: FakeBackend, folder: Path, gate: threading.Event
) -> None:
    async with ChatApp(backend).run_test(size=(100, 30), notifications=True) as pilot:
        await opened(pilot, backend)
        await begin(pilot, folder)
        await wait_until(pilot, lambda: shows(pilot, "1 of 3"), 20)
        assert pilot.app.screen.query_one("#begin", Button).disabled
        await pilot.press("escape")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))
        await ask_and_answer(pilot, backend, "Why?", "Because.")
        await pilot.press("f3")
        await wait_until(pilot, lambda: shows(pilot, "1 of 3"))
        assert shows(pilot, str(folder)[:40])
        await pilot.press("escape")
        gate.set()
        await wait_until(pilot, lambda: shows(pilot, "3 files read."), 20)


async def test_stopping(backend: FakeBackend, folder: Path, gate: threading.Event) -> None:
    async with ChatApp(backend).run_test(size=(100, 30)) as pilot:
        await opened(pilot, backend)
        await begin(pilot, folder, "own")
        await wait_until(pilot, lambda: shows(pilot, "1 of 3"), 20)
        await pilot.click("#stop")
        gate.set()
        await wait_until(pilot, lambda: shows(pilot, "Stopped. 1 file read."), 20)
        await pilot.click("#begin")
        await wait_until(pilot, lambda: shows(pilot, "2 files read, 1 not changed."), 20)
        await pilot.click("#close")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))


async def test_leaving_the_app_ends_it(
    backend: FakeBackend, folder: Path, gate: threading.Event
) -> None:
    async with ChatApp(backend).run_test(size=(100, 30)) as pilot:
        await opened(pilot, backend)
        await begin(pilot, folder)
        await wait_until(pilot, lambda: shows(pilot, "1 of 3"), 20)
        gate.set()
    for thread in threading.enumerate():
        if thread.name == "import":
            thread.join(10)
            assert not thread.is_alive()


async def test_what_is_wrong_is_told(backend: FakeBackend, folder: Path) -> None:
    async with ChatApp(backend).run_test(size=(100, 30)) as pilot:
        await opened(pilot, backend)
        await begin(pilot, Path("/"), "")
        await wait_until(pilot, lambda: shows(pilot, "name of a collection is 1 to 80"))
        await begin(pilot, folder, "chats")
        await wait_until(pilot, lambda: shows(pilot, "belongs to the program"))
        await begin(pilot, folder / "nowhere", "own")
        # "… does not exist, or no longer.": where the lines break depends on the folder's name.
        await wait_until(pilot, lambda: shows(pilot, "longer."), 20)


async def test_without_a_model_there_is_no_import() -> None:
    backend = FakeBackend(None)
    async with ChatApp(backend).run_test() as pilot:
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))
        await pilot.press("f3")
        await pilot.pause()
        assert isinstance(pilot.app.screen, ChatScreen)


def test_figures() -> None:
    reading = ImportProgress(Stage.READING, 1, 4, 0.25, seconds=10)
    assert progress_line(reading) == "reading · 1 of 4 · 0:30 left"
    indexing = ImportProgress(Stage.INDEXING, 1, 2, 0.5, 9000, 3)
    assert progress_line(indexing) == "indexing · 1 of 2 · 3,000 tokens/s · 0:03 left"
    failed = [FileNote(Path(name), f"{name} is broken.") for name in "abcd"]
    report = ImportReport("own", [Path("x")], skipped=Counter(hidden=2), failed=failed)
    assert outcome(report).splitlines() == [
        "1 file read.",
        "Left out: 2 hidden.",
        "4 files could not be read:",
        *("a is broken.", "b is broken.", "c is broken.", "…"),
    ]


@pytest.mark.parametrize("size", [(40, 12), (80, 24)])
async def test_everything_is_in_reach_on_a_small_terminal(
    backend: FakeBackend, folder: Path, gate: threading.Event, size: tuple[int, int]
) -> None:
    async with ChatApp(backend).run_test(size=size) as pilot:
        await opened(pilot, backend)
        await begin(pilot, folder, "own")
        await wait_until(pilot, lambda: shows(pilot, "1 of 3"), 20)
        for name in ("Import", "Stop", "Close"):
            button = pilot.app.screen.query_one(f"#{'begin' if name == 'Import' else name.lower()}")
            assert shows(pilot, name) and button.region in pilot.app.screen.region
        gate.set()
        await pilot.click("#stop")
        await wait_until(pilot, lambda: shows(pilot, "read"), 20)
        await pilot.click("#close")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))
