"""Pictures of the panel in each of its states, and of the lists."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input

from sssd_chat.conversation.chat_library import ChatLibrary
from sssd_chat.conversation.events import ModelLoading
from sssd_chat.conversation.history import History, NewTurn
from sssd_chat.conversation.services import Services
from sssd_chat.tui.app import ChatApp
from sssd_chat.tui.chat_state import ChatState
from sssd_chat.tui.deletions import Deletions
from sssd_chat.tui.screens import chats
from sssd_chat.tui.themes import DARK, LIGHT, extra_colours
from sssd_chat.tui.widgets.panel import LivePanel
from sssd_chat.tui.widgets.status_line import StatusLine
from tests.tui.fake_backend import FakeBackend, opened, wait_until
from tests.tui.panel_states import STATES
from tests.tui.screen import shows
from tests.tui.test_datastore import Library
from tests.tui.test_models import MODELS, Catalogue

Compare = Callable[..., bool]
PANEL_CSS = Path(chats.__file__).with_name("chat_panel.tcss")
BOTH_SIZES = pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=["80x24", "200x60"])
BOTH_THEMES = pytest.mark.parametrize("theme", [DARK.name, LIGHT.name])
NOW = 1_764_460_800.0  # Sunday, 30 November 2025


class PanelApp(App[None]):
    """The panel without a chat, above the line that it folds into."""

    CSS_PATH = PANEL_CSS
    CSS = "LivePanel { display: block; width: 100%; height: 1fr; }"

    def __init__(self, state: ChatState, theme: str) -> None:
        super().__init__()
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = theme
        self._state = state

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return extra_colours(self.current_theme)

    def compose(self) -> ComposeResult:
        yield LivePanel(self._state)
        line = StatusLine(self._state)
        line.folded = True
        yield line


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("size", [(80, 24), (46, 60)], ids=["80x24", "46x60"])
def test_panel(snap_compare: Compare, state: str, size: tuple[int, int]) -> None:
    assert snap_compare(PanelApp(STATES[state](), DARK.name), terminal_size=size)


@pytest.mark.parametrize("theme", [LIGHT.name, "ansi-dark", "no colour"])
def test_panel_in_other_colours(
    snap_compare: Compare, monkeypatch: pytest.MonkeyPatch, theme: str
) -> None:
    if theme == "no colour":
        monkeypatch.setenv("NO_COLOR", "1")
        theme = DARK.name
    assert snap_compare(PanelApp(STATES["writing"](), theme), terminal_size=(38, 40))


@pytest.fixture
def library(home: Path, monkeypatch: pytest.MonkeyPatch) -> ChatLibrary:
    """Chats of several days, as seen on a day of its own."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setattr(chats, "time", SimpleNamespace(time=lambda: NOW))
    path = home / "data" / "history.db"
    titles = (
        "How does a trie work?",
        "日本語の文法について教えてください",
        "Rezept für Zwiebelkuchen",
        "A very long title that goes on and on, further than a list has room for, and then some",
        "Fix my SQL query",
        "[/x] in a regular expression",
    )
    with contextlib.closing(History(path)) as history:
        for title, days in zip(titles, (0.01, 0.3, 1.2, 4, 20, 70), strict=True):
            chat = history.add_chat("", "", title=title, updated=NOW - days * 86400)
            question = history.insert(chat, None, NewTurn("user", f"{title} Please explain."))
            answer = "A trie over the conversation finds what was said before."
            history.insert(chat, question, NewTurn("assistant", answer))
    return ChatLibrary(path)


async def _show(pilot: Pilot[None], backend: FakeBackend, theme: str, key: str, shown: str) -> None:
    pilot.app.theme = theme
    await wait_until(pilot, lambda: backend.started and backend.idle)
    await pilot.press(key)
    await wait_until(pilot, lambda: shows(pilot, shown))
    pilot.app.screen.query_one("#typed", Input).cursor_blink = False


@BOTH_SIZES
@BOTH_THEMES
def test_chats(
    snap_compare: Compare, library: ChatLibrary, theme: str, size: tuple[int, int]
) -> None:
    backend = FakeBackend()
    backend.put(opened(chat=2))

    async def show(pilot: Pilot[None]) -> None:
        await _show(pilot, backend, theme, "ctrl+o", "6 chats")
        await pilot.press("down")
        await pilot.pause(0.2)

    app = ChatApp(backend, services=Services(library))
    assert snap_compare(app, terminal_size=size, run_before=show)


@BOTH_THEMES
def test_chats_that_were_found(
    snap_compare: Compare, library: ChatLibrary, monkeypatch: pytest.MonkeyPatch, theme: str
) -> None:
    monkeypatch.setattr(Deletions, "_tick", lambda *_: None)
    backend = FakeBackend()

    async def search(pilot: Pilot[None]) -> None:
        await _show(pilot, backend, theme, "ctrl+o", "6 chats")
        await pilot.press(*"trie said")
        await wait_until(pilot, lambda: shows(pilot, "found in 6"))
        await pilot.press("ctrl+d")
        await wait_until(pilot, lambda: shows(pilot, "is deleted"))
        await pilot.pause(0.2)

    app = ChatApp(backend, services=Services(library))
    assert snap_compare(app, terminal_size=(80, 24), run_before=search)


@BOTH_SIZES
@BOTH_THEMES
def test_models(snap_compare: Compare, theme: str, size: tuple[int, int]) -> None:
    backend = FakeBackend()

    async def show(pilot: Pilot[None]) -> None:
        await _show(pilot, backend, theme, "f2", "3 models")
        await pilot.press("down", "enter")
        backend.put(ModelLoading(0.4))
        await wait_until(pilot, lambda: shows(pilot, "40 %"))
        await pilot.pause(0.2)

    app = ChatApp(backend, services=Services(models=Catalogue(MODELS)))
    assert snap_compare(app, terminal_size=size, run_before=show)


@BOTH_SIZES
@BOTH_THEMES
def test_datastore(snap_compare: Compare, theme: str, size: tuple[int, int]) -> None:
    backend = FakeBackend()

    async def show(pilot: Pilot[None]) -> None:
        await _show(pilot, backend, theme, "f4", "4 collections")
        await pilot.press("down")
        await pilot.pause(0.2)

    app = ChatApp(backend, services=Services(datastore=Library()))
    assert snap_compare(app, terminal_size=size, run_before=show)


@BOTH_THEMES
@pytest.mark.parametrize("size", [(40, 12), (80, 24)], ids=["40x12", "80x24"])
def test_importing(snap_compare: Compare, theme: str, size: tuple[int, int]) -> None:
    backend = FakeBackend()

    async def show(pilot: Pilot[None]) -> None:
        pilot.app.theme = theme
        await wait_until(pilot, lambda: backend.started and backend.idle)
        await pilot.press("f3")
        await wait_until(pilot, lambda: shows(pilot, "Import documents"))
        for field in pilot.app.screen.query(Input):
            field.cursor_blink = False
        await pilot.pause(0.2)

    assert snap_compare(ChatApp(backend), terminal_size=size, run_before=show)
