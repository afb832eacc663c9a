"""The screen of all settings."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from sssd_chat import paths
from sssd_chat.config import load_config
from sssd_chat.config.settings import Setting, all_settings
from sssd_chat.tui.app import ChatApp
from sssd_chat.tui.screens.chat import ChatScreen
from sssd_chat.tui.screens.settings import SettingsScreen
from sssd_chat.tui.setting_values import few_values, from_typed, shown_value, typed_form
from tests.tui.fake_backend import FakeBackend, wait_until
from tests.tui.screen import lines, shows, told

SETTINGS = {setting.key: setting for setting in all_settings()}


@asynccontextmanager
async def _settings(find: str = "") -> AsyncIterator[Pilot[None]]:
    """The settings screen, narrowed down."""
    backend = FakeBackend()
    app = ChatApp(backend, config=load_config())
    async with app.run_test(size=(100, 40), notifications=True) as pilot:
        await wait_until(pilot, lambda: backend.started and backend.idle)
        await pilot.press("f5")
        await wait_until(pilot, lambda: isinstance(app.screen, SettingsScreen))
        if find:
            app.screen.query_one("#typed", Input).value = find
            await wait_until(pilot, lambda: not shows(pilot, "theme") or find == "theme")
        yield pilot


def _line(pilot: Pilot[None], name: str) -> str:
    """The row of a setting, which ends with where its value comes from."""
    rows = (line.rstrip(" ▁▂▃▄▅▆▇█▌▐│") for line in lines(pilot))
    return next(row for row in rows if f" {name} " in row and row.endswith(("file", "default")))


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS.keys())
def test_what_is_shown_can_be_typed(setting: Setting) -> None:
    values = [setting.default, *few_values(setting, ["nord"])]
    for value in values:
        assert "\n" not in shown_value(value)
        if setting.kind is not bool:
            assert from_typed(setting, typed_form(value)) == value


async def test_every_setting_is_there_with_its_value(home: Path) -> None:
    async with _settings() as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, SettingsScreen)
        seen = {row.key for row in screen._rows._rows if row.key is not None}
        assert seen == set(SETTINGS)
        assert "default" in _line(pilot, "context")


async def test_a_number_is_checked_and_written_with_comments_kept(home: Path) -> None:
    file = paths.config_file()
    file.parent.mkdir(parents=True)
    file.write_text("# mine\n[answer]\ntop_p = 0.5 # good\n")
    async with _settings("temperature") as pilot:
        await wait_until(pilot, lambda: shows(pilot, "counts from the next start on"))
        await pilot.press("enter")
        field = pilot.app.screen.query_one("#value", Input)
        assert field.value == "0.7" and pilot.app.focused is field
        field.value = "1000"
        await pilot.press("enter")
        await wait_until(pilot, lambda: shows(pilot, "✖ expected a number from 0 to 100"))
        assert load_config().answer.temperature == 0.7
        field.value = "0.2"
        await pilot.press("enter")
        await wait_until(pilot, lambda: "0.2" in _line(pilot, "temperature"))
        assert "file" in _line(pilot, "temperature") and not shows(pilot, "✖")
        text = file.read_text()
        assert "# mine" in text and "# good" in text and load_config().answer.temperature == 0.2
        await pilot.press("ctrl+d")
        await wait_until(pilot, lambda: "default" in _line(pilot, "temperature"))
        assert load_config().given == {"answer.top_p"}


async def test_a_switch_and_few_values(home: Path) -> None:
    async with _settings("drafting") as pilot:
        await pilot.press("enter")
        await wait_until(pilot, lambda: load_config().answer.drafting is False)
        await pilot.press("left")
        await wait_until(pilot, lambda: load_config().answer.drafting is True)
    async with _settings("flash") as pilot:
        await pilot.press("right")
        await wait_until(pilot, lambda: load_config().model.flash_attention is not None)


async def test_a_theme_is_seen_at_once(home: Path) -> None:
    async with _settings("theme") as pilot:
        await wait_until(pilot, lambda: shows(pilot, "counts at once"))
        await pilot.press("right")
        await wait_until(pilot, lambda: pilot.app.theme == "sssd-light")
        assert load_config().screen.theme == "light"


async def test_a_list_is_typed_with_commas(home: Path) -> None:
    async with _settings("folders") as pilot:
        await pilot.press("enter")
        pilot.app.screen.query_one("#value", Input).value = "~/a, /b c ,"
        await pilot.press("enter")
        await wait_until(pilot, lambda: load_config().model.folders == ("~/a", "/b c"))


async def test_escape_gives_up_step_by_step(home: Path) -> None:
    async with _settings("temperature") as pilot:
        await pilot.press("enter", "9", "escape")
        assert not pilot.app.screen.query_one("#value").display
        await pilot.press("escape")
        await wait_until(pilot, lambda: shows(pilot, "context"))
        await pilot.press("escape")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))
    assert not paths.config_file().exists()


async def test_a_file_that_is_broken_is_left_alone(home: Path) -> None:
    file = paths.config_file()
    file.parent.mkdir(parents=True)
    file.write_text("[answer\n")
    async with _settings("drafting") as pilot:
        await pilot.press("enter")
        await wait_until(pilot, lambda: told(pilot, "is not valid TOML"))
    assert file.read_text() == "[answer\n"
