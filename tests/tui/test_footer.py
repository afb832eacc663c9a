"""The line of keys at the bottom."""

from __future__ import annotations

import pytest

from sssd_chat.tui.screens.help import HelpScreen
from sssd_chat.tui.widgets.key_footer import KeyFooter
from tests.tui.conftest import OpenChat
from tests.tui.fake_backend import FakeBackend, wait_until
from tests.tui.screen import ask, lines


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
async def test_the_keys_fit_and_the_help_is_one_of_them(
    columns: int, open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat(size=(columns, 24)) as pilot:
        line = lines(pilot)[-1]
        assert "f1 Help" in line and ("^p Palette" in line) == (columns >= 80)
        await ask(pilot, backend)
        assert "esc Stop" in lines(pilot)[-1]


@pytest.mark.parametrize("columns", [40, 100])
async def test_a_click_is_a_key_press(columns: int, open_chat: OpenChat) -> None:
    async with open_chat(size=(columns, 24)) as pilot:
        await wait_until(pilot, lambda: "f1 Help" in lines(pilot)[-1])
        await pilot.click(KeyFooter, offset=(lines(pilot)[-1].index("f1 Help") + 3, 0))
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
