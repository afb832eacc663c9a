"""Pictures of the frame: help, questions, suggestions, the settings and the first screen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from sssd_chat import paths
from sssd_chat.conversation.events import TokensCounted
from sssd_chat.conversation.services import Services
from sssd_chat.tui.app import ChatApp
from tests.tui.fake_backend import FakeBackend, wait_until
from tests.tui.screen import ask, prompt, shows
from tests.tui.test_first_run import Catalogue

SIZES = {"80x24": (80, 24), "200x60": (200, 60)}
THEMES = ("sssd-dark", "sssd-light", "ansi-dark", "no colour")

Compare = Callable[..., bool]
EVERY_SIZE = pytest.mark.parametrize("size", SIZES.values(), ids=SIZES.keys())
EVERY_THEME = pytest.mark.parametrize("theme", THEMES)
EVERY_LOOK = pytest.mark.parametrize(
    ("theme", "size"),
    [
        pytest.param(theme, SIZES[size], id=f"{theme}-{size}")
        for theme in THEMES
        for size in SIZES
        if size == "80x24" or theme in THEMES[:2]
    ],
)
"""Colours do not depend on the size: the rarer themes are looked at in one."""


def _dress(app: ChatApp, theme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if theme == "no colour":
        monkeypatch.setenv("NO_COLOR", "1")
    else:
        app.theme = theme


async def _ready(pilot: Pilot[None], backend: FakeBackend) -> None:
    await wait_until(pilot, lambda: backend.started and backend.idle)
    prompt(pilot).cursor_blink = False


@EVERY_SIZE
@pytest.mark.parametrize("theme", THEMES[:2])
def test_help(
    snap_compare: Compare, monkeypatch: pytest.MonkeyPatch, theme: str, size: tuple[int, int]
) -> None:
    backend = FakeBackend()
    app = ChatApp(backend)

    async def help_(pilot: Pilot[None]) -> None:
        _dress(app, theme, monkeypatch)
        await _ready(pilot, backend)
        await pilot.press("f1")
        await wait_until(pilot, lambda: len(app.screen_stack) == 3)
        await pilot.pause(0.2)

    assert snap_compare(app, terminal_size=size, run_before=help_)


@EVERY_THEME
def test_question(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch, theme: str) -> None:
    if theme == "no colour":
        monkeypatch.setenv("NO_COLOR", "1")
    backend = FakeBackend()
    app = ChatApp(backend)

    async def question(pilot: Pilot[None]) -> None:
        _dress(app, theme, monkeypatch)
        await _ready(pilot, backend)
        await ask(pilot, backend, "a")
        await pilot.press("ctrl+q")
        await wait_until(pilot, lambda: len(app.screen_stack) == 3)
        await pilot.pause(0.2)

    assert snap_compare(app, terminal_size=(80, 24), run_before=question)


@pytest.mark.parametrize(
    ("theme", "size"),
    [
        *(pytest.param(theme, (80, 24), id=f"{theme}-80x24") for theme in THEMES),
        pytest.param("sssd-dark", (40, 12), id="sssd-dark-40x12"),
    ],
)
def test_suggestions(
    snap_compare: Compare, monkeypatch: pytest.MonkeyPatch, theme: str, size: tuple[int, int]
) -> None:
    if theme == "no colour":
        monkeypatch.setenv("NO_COLOR", "1")
    backend = FakeBackend()
    app = ChatApp(backend)

    async def suggestions(pilot: Pilot[None]) -> None:
        _dress(app, theme, monkeypatch)
        await _ready(pilot, backend)
        await pilot.press(*"/e")
        backend.put(TokensCounted(3, 1204))
        await wait_until(pilot, lambda: shows(pilot, "/export FILE"))
        await wait_until(pilot, lambda: shows(pilot, "1,204 of 8,192"))
        await pilot.pause(0.2)

    assert snap_compare(app, terminal_size=size, run_before=suggestions)


@EVERY_LOOK
def test_first_run(
    snap_compare: Compare,
    monkeypatch: pytest.MonkeyPatch,
    home: Path,
    theme: str,
    size: tuple[int, int],
) -> None:
    if theme == "no colour":
        monkeypatch.setenv("NO_COLOR", "1")
    app = ChatApp(
        None,
        "The file /models/x.gguf does not exist.",
        services=Services(models=Catalogue()),
        places=("sssd-chat", "LM Studio"),
    )

    async def first(pilot: Pilot[None]) -> None:
        _dress(app, theme, monkeypatch)
        await wait_until(pilot, lambda: shows(pilot, "Qwen3-4B"))
        await pilot.pause(0.2)

    assert snap_compare(app, terminal_size=size, run_before=first)


@EVERY_LOOK
def test_settings(
    snap_compare: Compare,
    monkeypatch: pytest.MonkeyPatch,
    home: Path,
    theme: str,
    size: tuple[int, int],
) -> None:
    if theme == "no colour":
        monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("sssd_chat.tui.screens.settings._short", lambda path: "~/config.toml")
    file = paths.config_file()
    file.parent.mkdir(parents=True)
    file.write_text("[answer]\nsystem = 'You are terse.'\ntemperature = 0.2\n")
    backend = FakeBackend()
    app = ChatApp(backend)

    async def settings(pilot: Pilot[None]) -> None:
        _dress(app, theme, monkeypatch)
        await _ready(pilot, backend)
        await pilot.press("f5")
        await wait_until(pilot, lambda: shows(pilot, "~/config.toml"))
        await pilot.press(*["down"] * 12, "enter")
        field = app.screen.query_one("#value", Input)
        field.cursor_blink = False
        field.value = "hot"
        await pilot.press("enter")
        await wait_until(pilot, lambda: shows(pilot, "✖"))
        await pilot.pause(0.2)

    assert snap_compare(app, terminal_size=size, run_before=settings)
