"""A chat app that runs without a terminal."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot

from sssd_chat.tui import collector
from sssd_chat.tui.app import ChatApp
from sssd_chat.tui.screens.chat import ChatScreen
from tests.tui.fake_backend import FakeBackend, wait_until

OpenChat = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Colours and clipboards of the machine that runs the tests make no difference."""
    for name in ("NO_COLOR", "WAYLAND_DISPLAY", "DISPLAY", "WSL_DISTRO_NAME", "TEXTUAL_THEME"):
        monkeypatch.delenv(name, raising=False)
    # What one app leaves behind would stay in memory while all others run.
    monkeypatch.setattr(collector, "settle", lambda: None)


@pytest.fixture(scope="session", autouse=True)
def _style_sheets_are_parsed_once() -> Iterator[None]:
    """Hundreds of apps read the same few style sheets, and parse them again at every screen."""
    parse = Stylesheet._parse_rules
    known: dict[tuple[object, ...], list[RuleSet]] = {}

    def parse_once(sheet: Stylesheet, *source: object, **options: object) -> list[RuleSet]:
        key = (source, *options.items(), *sheet._variables.items())
        if key not in known:
            known[key] = parse(sheet, *source, **options)  # type: ignore[arg-type]
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_once)
        yield


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend()


@pytest.fixture
def open_chat(backend: FakeBackend) -> OpenChat:
    """Opens the chat on the fake backend; `async with open_chat() as pilot`."""

    @asynccontextmanager
    async def chat(size: tuple[int, int] = (80, 24)) -> AsyncIterator[Pilot[None]]:
        async with ChatApp(backend).run_test(size=size, notifications=True) as pilot:
            await wait_until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))
            await wait_until(pilot, lambda: backend.started and backend.idle)
            await pilot.pause()
            yield pilot

    return chat
