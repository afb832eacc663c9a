"""Settings that the screen follows, and what it says about wrong ones."""

from __future__ import annotations

import pytest

from sssd_chat.config import Config
from sssd_chat.config.settings import ScreenConfig
from sssd_chat.tui.app import ChatApp
from sssd_chat.tui.themes import DARK, LIGHT
from tests.tui.fake_backend import FakeBackend, wait_until
from tests.tui.screen import ask_and_answer, shows


@pytest.mark.parametrize(
    ("theme", "name"), [("dark", DARK.name), ("light", LIGHT.name), ("nord", "nord")]
)
async def test_the_theme_is_the_one_set(theme: str, name: str, backend: FakeBackend) -> None:
    app = ChatApp(backend, config=Config(screen=ScreenConfig(theme=theme)))
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: backend.started)
        assert app.theme == name


async def test_what_is_wrong_is_told(backend: FakeBackend) -> None:
    config = Config(screen=ScreenConfig(theme="no\x1bne"), notices=("answer.top_p is [7].",))
    async with ChatApp(backend, config=config).run_test(notifications=True) as pilot:
        await wait_until(pilot, lambda: shows(pilot, "answer.top_p is [7]."))
        await wait_until(pilot, lambda: shows(pilot, "There is no theme none"))
        assert pilot.app.theme == DARK.name


@pytest.mark.parametrize("bell", [True, False])
async def test_the_bell_rings_if_wanted(
    bell: bool, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    rung: list[bool] = []
    app = ChatApp(backend, config=Config(screen=ScreenConfig(bell=bell, long_answer_seconds=0)))
    monkeypatch.setattr(app, "bell", lambda: rung.append(True))
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: backend.started and backend.idle)
        await ask_and_answer(pilot, backend, "hi", "hello")
        assert rung == [True] * bell
