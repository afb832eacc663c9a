"""Pictures of the lists in the colours of the terminal and without any: one app is looked at in all
its lists, as each start costs more than the pictures."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_textual_snapshot import SVGImageExtension
from syrupy.assertion import SnapshotAssertion
from textual.pilot import Pilot
from textual.widgets import Input

from sssd_chat.conversation.chat_library import ChatLibrary
from sssd_chat.conversation.services import Services
from sssd_chat.tui.app import ChatApp
from sssd_chat.tui.deletions import Deletions
from sssd_chat.tui.screens.documents import DocumentsScreen
from sssd_chat.tui.themes import DARK
from tests.tui.fake_backend import FakeBackend, opened, wait_until
from tests.tui.screen import shows
from tests.tui.test_datastore import Library
from tests.tui.test_models import MODELS, Catalogue
from tests.tui.test_snapshots_panel import library

__all__ = ["library"]


class Album:
    """Takes pictures of an app that runs, and compares them with those that are kept."""

    def __init__(self, pilot: Pilot[None], snapshot: SnapshotAssertion) -> None:
        self._pilot = pilot
        self._snapshot = snapshot.use_extension(SVGImageExtension)
        self.changed: list[str] = []

    async def take(self, name: str, shown: str) -> None:
        """Compares the screen as soon as it shows a text."""
        await wait_until(self._pilot, lambda: shows(self._pilot, shown))
        for field in self._pilot.app.screen.query(Input):
            field.cursor_blink = False
        await self._pilot.pause(0.2)
        picture = self._pilot.app.export_screenshot(title=name, simplify=True)
        if self._snapshot(name=name) != picture:
            self.changed.append(name)


@pytest.mark.parametrize("theme", ["ansi-dark", "no colour"])
async def test_lists(
    library: ChatLibrary,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    snapshot: SnapshotAssertion,
    theme: str,
) -> None:
    monkeypatch.setattr(Deletions, "_tick", lambda *_: None)
    if theme == "no colour":
        monkeypatch.setenv("NO_COLOR", "1")
    backend = FakeBackend()
    backend.put(opened(chat=2))
    datastore = Library()
    services = Services(library, datastore, Catalogue(MODELS))
    app = ChatApp(backend, services=services)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        app.theme = DARK.name if theme == "no colour" else theme
        await wait_until(pilot, lambda: backend.started and backend.idle)
        album = Album(pilot, snapshot)
        await pilot.press("ctrl+o")
        await album.take("chats", "6 chats")
        await pilot.press(*"trie said")
        await wait_until(pilot, lambda: shows(pilot, "found in 6"))
        await pilot.press("down", "ctrl+d")
        await album.take("found", "is deleted")
        await pilot.press("escape", "escape", "f2")
        await wait_until(pilot, lambda: shows(pilot, "3 models"))
        await pilot.press("down")
        await album.take("models", "Cannot be used")
        await pilot.press("escape", "f4")
        await wait_until(pilot, lambda: shows(pilot, "4 collections"))
        await pilot.press("down")
        await album.take("datastore", "letters")
        await pilot.press("enter")
        await wait_until(pilot, lambda: isinstance(app.screen, DocumentsScreen))
        await album.take("documents", "On tries")
        datastore.problem = "The datastore is damaged; sssd-chat datastore rebuild mends it."
        await pilot.press("escape")
        await album.take("problem", "✖")
        assert not album.changed
