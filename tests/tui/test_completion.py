"""What a typed command goes on with."""

from __future__ import annotations

from pathlib import Path

import pytest

from sssd_chat.tui.completion import suggestions_for
from sssd_chat.tui.slash import COMMANDS
from sssd_chat.tui.widgets.suggestion_list import SuggestionList
from tests.tui.conftest import OpenChat
from tests.tui.fake_backend import FakeBackend, wait_until
from tests.tui.screen import ask, prompt, shows


def _texts(text: str, models: tuple[str, ...] = ()) -> list[str]:
    return [item.text for item in suggestions_for(text, lambda: models).items]


def test_every_command_is_offered() -> None:
    offered = {text.strip() for text in _texts("/")}
    assert offered == set(COMMANDS)


def test_commands_that_begin_so_come_first() -> None:
    first, *others = _texts("/at")
    assert first == "/attach " and "/statistics" in others
    assert suggestions_for("/at", list).first_is_meant


@pytest.mark.parametrize("text", ["", "at", "x /at", " /at", "/at\n", "/new ", "/zzz", "/zzz "])
def test_nothing_for_what_is_no_command(text: str) -> None:
    assert _texts(text) == []


def test_paths(tmp_path: Path) -> None:
    for name in ("notes.txt", "Numbers.csv", ".hidden", "other", "bad\x1bname"):
        (tmp_path / name).write_text("x")
    (tmp_path / "nested folder").mkdir()
    start = f"/attach {tmp_path}/"
    assert _texts(f"{start}n") == [
        f"{start}nested folder/",
        f"{start}notes.txt",
        f"{start}Numbers.csv",
    ]
    assert _texts(f"{start}.h") == [f"{start}.hidden"]
    assert f"{start}.hidden" not in _texts(start)
    assert not any("\x1b" in text for text in _texts(start))
    assert not suggestions_for(start, list).first_is_meant
    assert _texts("/attach /no/such/folder/") == []
    assert _texts("/attach ~nobody-of-this-name/") == []


def test_a_folder_that_cannot_be_listed_at_once_is_listed_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        (tmp_path / f"f{number}").touch()
    monkeypatch.setattr("sssd_chat.tui.completion._MOST_LOOKED_AT", 10)
    assert len(_texts(f"/attach {tmp_path}/")) == 10


def test_models() -> None:
    assert _texts("/model qw", ("Qwen3-4B", "SmolLM2")) == ["/model Qwen3-4B"]
    assert len(_texts("/model ", ("Qwen3-4B", "SmolLM2"))) == 2


async def test_tab_takes_enter_sends_escape_closes(
    open_chat: OpenChat, backend: FakeBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").touch()
    (tmp_path / "nothing.txt").touch()
    async with open_chat() as pilot:
        shown = pilot.app.screen.query_one(SuggestionList)
        await pilot.press(*"/att")
        await wait_until(pilot, lambda: shows(pilot, "/attach PATH"))
        await pilot.press("tab")
        assert prompt(pilot).text == "/attach "
        await pilot.press("n")
        await wait_until(pilot, lambda: shows(pilot, "nothing.txt"))
        await pilot.press("down", "down", "up", "enter")
        assert prompt(pilot).text == "/attach notes.txt"
        await pilot.press("enter")
        await wait_until(pilot, lambda: backend.attached == ["notes.txt"])
        await pilot.press(*"/at")
        await wait_until(pilot, lambda: shown.is_open)
        await pilot.press("escape")
        assert not shown.is_open and prompt(pilot).text == "/at"
        await pilot.press("up")
        assert prompt(pilot).text == "/attach notes.txt", "without suggestions it is the history"


async def test_enter_takes_the_first_command_and_sends_a_whole_one(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        shown = pilot.app.screen.query_one(SuggestionList)
        await pilot.press(*"/deta")
        await wait_until(pilot, lambda: shown.is_open)
        await pilot.press("enter")
        assert prompt(pilot).text == "/detach" and backend.detached == 0
        await pilot.press("enter")
        await wait_until(pilot, lambda: backend.detached == 1)


async def test_a_suggestion_can_be_clicked(open_chat: OpenChat) -> None:
    async with open_chat() as pilot:
        await pilot.press(*"/att")
        await wait_until(pilot, lambda: pilot.app.screen.query_one(SuggestionList).size.height)
        await pilot.click(SuggestionList, offset=(4, 0))
        await wait_until(pilot, lambda: prompt(pilot).text == "/attach ")
        assert pilot.app.focused is prompt(pilot)


async def test_suggestions_do_not_stop_an_answer(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await ask(pilot, backend)
        await pilot.press("/")
        await wait_until(pilot, lambda: pilot.app.screen.query_one(SuggestionList).is_open)
        await pilot.press("escape")
        assert backend.cancelled == 0
        await pilot.press("escape")
        await wait_until(pilot, lambda: backend.cancelled == 1)
