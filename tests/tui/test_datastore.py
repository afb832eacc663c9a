"""The screens of the datastore."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from sssd_chat.conversation.datastore_library import (
    CollectionEntry,
    DatastoreLibrary,
    DocumentEntry,
)
from sssd_chat.conversation.events import ModelReady, WeekSpeed
from sssd_chat.conversation.progress import Progress, nobody
from sssd_chat.conversation.services import Services
from sssd_chat.errors import UserError
from sssd_chat.tui.app import ChatApp
from sssd_chat.tui.screens.chat import ChatScreen
from sssd_chat.tui.screens.chats import ChatsScreen
from sssd_chat.tui.screens.confirm import ConfirmScreen
from sssd_chat.tui.screens.datastore import DatastoreScreen
from sssd_chat.tui.screens.documents import DocumentsScreen
from sssd_chat.tui.screens.importing import ImportScreen
from tests.tui.fake_backend import MODEL, FakeBackend, wait_until
from tests.tui.screen import lines, shows

OpenScreen = Callable[..., AbstractAsyncContextManager[Pilot[None]]]
WEEK = 7 * 24 * 3600.0
MONDAY = 1_761_523_200.0


class Library(DatastoreLibrary):
    """A datastore in memory; forgetting waits for `gate`."""

    def __init__(self) -> None:
        self.entries = [
            CollectionEntry("chats", 812, 1_240_000, 9_800_000, 61_000, 5400.0, "chats"),
            CollectionEntry("papers 日本語", 12, 340_000, 2_700_000, 9000, 640.0, "imported"),
            CollectionEntry("letters", 3, 1200, 9600, 0, 0.0, "imported"),
            CollectionEntry("starter/code", 1, 90_000, 720_000, 1400, 80.0, "starter"),
        ]
        self.found = [
            DocumentEntry("/home/ann/papers/[trie].pdf", "On tries"),
            DocumentEntry("/home/ann/papers/notes.txt", ""),
        ]
        self.weeks = tuple(
            WeekSpeed(MONDAY + n * WEEK, 1000, speed) for n, speed in enumerate((1.1, None, 1.6))
        )
        self.forgotten: list[str] = []
        self.problem = ""
        self.gate = threading.Event()
        self.gate.set()

    def collections(self) -> list[CollectionEntry]:
        if self.problem:
            raise UserError(self.problem)
        return list(self.entries)

    def documents(self, collection: str) -> list[DocumentEntry]:
        return list(self.found)

    def speed_curve(self) -> tuple[WeekSpeed, ...]:
        return self.weeks

    def forget_collection(self, name: str, progress: Progress = nobody) -> None:
        self._forget(name, progress)
        self.entries = [entry for entry in self.entries if entry.name != name]

    def forget_document(self, name: str, collection: str, progress: Progress = nobody) -> None:
        self._forget(f"{collection}: {name}", progress)
        self.found = [document for document in self.found if document.name != name]

    def _forget(self, name: str, progress: Progress) -> None:
        progress(1, 2)
        assert self.gate.wait(20)
        if self.problem:
            raise UserError(self.problem)
        self.forgotten.append(name)


@pytest.fixture
def library() -> Library:
    return Library()


@pytest.fixture
def open_screen(backend: FakeBackend, library: Library) -> OpenScreen:
    """Opens the datastore; `async with open_screen() as pilot`."""

    @asynccontextmanager
    async def opener(size: tuple[int, int] = (90, 30)) -> AsyncIterator[Pilot[None]]:
        app = ChatApp(backend, services=Services(datastore=library))
        async with app.run_test(size=size, notifications=True) as pilot:
            await wait_until(pilot, lambda: backend.started and backend.idle)
            await pilot.press("f4")
            await wait_until(pilot, lambda: isinstance(pilot.app.screen, DatastoreScreen))
            await wait_until(pilot, lambda: shows(pilot, "collection") or telling(pilot))
            yield pilot

    return opener


def telling(pilot: Pilot[None]) -> str:
    return str(pilot.app.screen.query_one("#telling", Static).render())


async def test_collections_are_shown_with_what_they_hold_and_saved(
    open_screen: OpenScreen,
) -> None:
    async with open_screen() as pilot:
        assert shows(pilot, "4 collections · 1.7M tokens · 13.2 MB · 102 min saved")
        line = next(line for line in lines(pilot) if "papers" in line)
        for number in ("12", "340k", "2.7 MB", "9.0k", "11 min", "━─"):
            assert number in line
        for title in ("Your chats", "Imported", "Came with the program", "1.60×", "27 Oct"):
            assert shows(pilot, title)
        await pilot.resize_terminal(40, 12)
        await wait_until(pilot, lambda: not shows(pilot, "documents"))
        assert shows(pilot, "90 min"), "what it saved is the last number to go"


async def test_a_collection_is_forgotten_when_the_user_agrees(
    open_screen: OpenScreen, library: Library
) -> None:
    library.gate.clear()
    async with open_screen() as pilot:
        await pilot.press("down", "ctrl+d")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        assert shows(pilot, "papers") and shows(pilot, "12 documents")
        await pilot.press("n")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, DatastoreScreen))
        await pilot.press("ctrl+d")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        await pilot.press("y")
        await wait_until(pilot, lambda: "forgetting papers" in telling(pilot))
        await wait_until(pilot, lambda: "━━━━━━━━━━━━─" in telling(pilot))
        await pilot.press("ctrl+d")
        await pilot.pause()
        assert isinstance(pilot.app.screen, DatastoreScreen), "one at a time"
        library.gate.set()
        await wait_until(pilot, lambda: "is forgotten: nothing on the disk" in telling(pilot))
        await wait_until(pilot, lambda: shows(pilot, "3 collections"))
    assert library.forgotten == ["papers 日本語"]


async def test_what_cannot_be_forgotten_is_told(open_screen: OpenScreen, library: Library) -> None:
    async with open_screen() as pilot:
        await pilot.press("down", "ctrl+d")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        library.problem = "Another program is writing [/x]."
        await pilot.press("y")
        await wait_until(pilot, lambda: library.problem in telling(pilot))
        library.problem = ""
        await pilot.press("ctrl+d")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))


async def test_chats_are_forgotten_in_their_own_list(
    open_screen: OpenScreen, library: Library
) -> None:
    async with open_screen() as pilot:
        await pilot.press("ctrl+d")
        await wait_until(pilot, lambda: "one by one" in telling(pilot))
        await pilot.press("enter")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ChatsScreen))
    assert library.forgotten == []


async def test_documents_are_looked_over_and_forgotten(
    open_screen: OpenScreen, library: Library
) -> None:
    async with open_screen() as pilot:
        await pilot.press("down", "enter")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, DocumentsScreen))
        await wait_until(pilot, lambda: shows(pilot, "2 documents"))
        assert shows(pilot, "/home/ann/papers/[trie].pdf  On tries")
        await pilot.press(*"TRIES")
        await wait_until(pilot, lambda: shows(pilot, "1 document"))
        await pilot.press("ctrl+d")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        await pilot.press("y")
        await wait_until(pilot, lambda: "is forgotten" in telling(pilot))
        await wait_until(pilot, lambda: shows(pilot, "No document has all of these words"))
        await pilot.press("escape", "escape")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, DatastoreScreen))
    assert library.forgotten == ["papers 日本語: /home/ann/papers/[trie].pdf"]


async def test_typing_narrows_down_and_escape_leads_back(open_screen: OpenScreen) -> None:
    async with open_screen() as pilot:
        await pilot.press(*"letters")
        await wait_until(pilot, lambda: not shows(pilot, "papers"))
        await pilot.press("escape")
        await wait_until(pilot, lambda: shows(pilot, "papers"))
        await pilot.press("escape")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))


async def test_a_collection_of_the_program_has_no_documents_to_show(
    open_screen: OpenScreen,
) -> None:
    async with open_screen() as pilot:
        await pilot.press("ctrl+end", "enter")
        await wait_until(pilot, lambda: "came with the program" in telling(pilot))


async def test_the_import_opens_from_here_and_the_list_is_read_again(
    open_screen: OpenScreen, library: Library
) -> None:
    async with open_screen() as pilot:
        await pilot.press("f3")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ImportScreen))
        library.entries.append(dataclasses.replace(library.entries[2], name="mail"))
        await pilot.press("escape")
        await wait_until(pilot, lambda: shows(pilot, "5 collections") and shows(pilot, "mail"))


async def test_without_a_model_nothing_can_be_imported(library: Library) -> None:
    backend = FakeBackend(None)
    async with ChatApp(backend, services=Services(datastore=library)).run_test() as pilot:
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))
        await pilot.press("f4")
        await wait_until(pilot, lambda: shows(pilot, "4 collections"))
        await pilot.press("f3")
        await pilot.pause()
        assert isinstance(pilot.app.screen, DatastoreScreen)
        backend.put(ModelReady(MODEL))


async def test_an_empty_or_broken_datastore_says_so(
    backend: FakeBackend, home: Path, library: Library
) -> None:
    async with ChatApp(backend).run_test() as pilot:
        await wait_until(pilot, lambda: backend.started and backend.idle)
        await pilot.press("f4")
        await wait_until(pilot, lambda: shows(pilot, "Nothing to draft from yet."))
        await pilot.press("ctrl+d", "enter", "down")
        assert isinstance(pilot.app.screen, DatastoreScreen)
    library.problem = "The index of m.gguf cannot be read."
    backend.put(ModelReady(MODEL))
    async with ChatApp(backend, services=Services(datastore=library)).run_test() as pilot:
        await wait_until(pilot, lambda: backend.idle)
        await pilot.press("f4")
        await wait_until(pilot, lambda: library.problem in telling(pilot))
