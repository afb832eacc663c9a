"""The list of chats, on a real history."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from sssd_chat.conversation.chat_library import ChatLibrary
from sssd_chat.conversation.history import History, NewTurn
from sssd_chat.conversation.services import Services
from sssd_chat.errors import UserError
from sssd_chat.tui import deletions
from sssd_chat.tui.app import ChatApp
from sssd_chat.tui.screens.chat import ChatScreen
from sssd_chat.tui.screens.chats import ChatsScreen
from sssd_chat.tui.screens.chats_export import ExportScreen
from tests.tui.fake_backend import FakeBackend, opened, wait_until
from tests.tui.screen import lines, prompt, shows, type_fast

OpenList = Callable[..., AbstractAsyncContextManager[Pilot[None]]]
TITLES = ("about apples", "about pears", "日本語の文法について")


@pytest.fixture
def library(home: Path) -> ChatLibrary:
    """Chats 1 to 3, the third one used last."""
    path = home / "data" / "history.db"
    with contextlib.closing(History(path)) as history:
        for number, title in enumerate(TITLES, 1):
            chat = history.add_chat("", "", title=title, updated=100_000.0 * number)
            question = history.insert(chat, None, NewTurn("user", f"tell me {title}"))
            answer = NewTurn("assistant", "Fruit of the garden, said [/the] **model**.")
            history.insert(chat, question, answer)
    return ChatLibrary(path)


@pytest.fixture
def open_list(backend: FakeBackend, library: ChatLibrary) -> OpenList:
    """Opens the list from chat 2; `async with open_list() as pilot`."""

    @asynccontextmanager
    async def opener(size: tuple[int, int] = (80, 24)) -> AsyncIterator[Pilot[None]]:
        backend.put(opened(chat=2, title=TITLES[1]))
        app = ChatApp(backend, services=Services(library))
        async with app.run_test(size=size, notifications=True) as pilot:
            await wait_until(pilot, lambda: backend.started and backend.idle)
            await pilot.press("ctrl+o")
            await wait_until(pilot, lambda: isinstance(pilot.app.screen, ChatsScreen))
            await wait_until(pilot, lambda: shows(pilot, "3 chats"))
            yield pilot

    return opener


def screen(pilot: Pilot[None]) -> ChatsScreen:
    found = pilot.app.screen
    assert isinstance(found, ChatsScreen)
    return found


def titles(library: ChatLibrary) -> list[str]:
    return [chat.title for chat in library.list()]


async def test_the_list_shows_all_chats_and_marks_the_open_one(open_list: OpenList) -> None:
    async with open_list() as pilot:
        assert all(shows(pilot, title) for title in TITLES)
        (marked,) = [line for line in lines(pilot) if "●" in line]
        assert "about pears" in marked and marked.lstrip().startswith("▌"), "the cursor is there"
        assert "2 turns" in marked


async def test_enter_opens_the_chat_under_the_cursor(
    open_list: OpenList, backend: FakeBackend
) -> None:
    async with open_list() as pilot:
        await pilot.press("down", "enter")
        await wait_until(pilot, lambda: backend.opened_chats == [1])
        assert isinstance(pilot.app.screen, ChatScreen)


async def test_the_open_chat_is_not_opened_again(open_list: OpenList, backend: FakeBackend) -> None:
    async with open_list() as pilot:
        await pilot.press("enter")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))
        await pilot.press("ctrl+o")
        await wait_until(pilot, lambda: shows(pilot, "3 chats"))
        await pilot.press("escape")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))
    assert backend.opened_chats == []


async def test_the_cursor_moves_by_keys_and_stays_within_the_list(open_list: OpenList) -> None:
    async with open_list() as pilot:
        rows = screen(pilot).rows
        for keys, key in (
            (["up", "up", "up"], 3),
            (["down", "down", "down", "down"], 1),
            (["ctrl+home"], 3),
            (["ctrl+end"], 1),
            (["pageup"], 3),
            (["pagedown"], 1),
        ):
            await pilot.press(*keys)
            assert rows.key == key, keys


async def test_a_click_moves_the_cursor_and_a_click_on_it_opens(
    open_list: OpenList, backend: FakeBackend
) -> None:
    async with open_list() as pilot:
        line = next(n for n, text in enumerate(lines(pilot)) if "about apples" in text)
        await pilot.click(offset=(20, line))
        await wait_until(pilot, lambda: screen(pilot).rows.key == 1)
        await pilot.click(offset=(20, line))
        await wait_until(pilot, lambda: backend.opened_chats == [1])


async def test_typing_searches_and_escape_takes_it_back(open_list: OpenList) -> None:
    async with open_list() as pilot:
        await pilot.press(*"PEARS")
        await wait_until(pilot, lambda: shows(pilot, "found in 1"))
        assert not shows(pilot, "about apples") and shows(pilot, "tell me about pears")
        await pilot.press(*" nowhere")
        await wait_until(pilot, lambda: shows(pilot, "No chat holds all of these words."))
        await pilot.press("enter")
        await pilot.press("escape")
        await wait_until(pilot, lambda: shows(pilot, "3 chats"))
        await pilot.press(*"文法")
        await wait_until(pilot, lambda: shows(pilot, "found in 1") and shows(pilot, TITLES[2]))


async def test_text_of_a_model_is_shown_as_it_is(open_list: OpenList) -> None:
    async with open_list() as pilot:
        await pilot.press(*"garden")
        await wait_until(pilot, lambda: shows(pilot, "found in 3"))
        assert shows(pilot, "Fruit of the garden, said [/the] **model**.")


async def test_renaming_in_the_row(open_list: OpenList, library: ChatLibrary) -> None:
    async with open_list() as pilot:
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: shows(pilot, "Enter keeps the title"))
        await pilot.press("end", *" and more", "enter")
        await wait_until(pilot, lambda: shows(pilot, "about pears and more"))
        assert titles(library)[1] == "about pears and more"
        assert screen(pilot).rows.key == 2 and pilot.app.focused is not None
        assert pilot.app.focused.id == "typed"


async def test_renaming_can_be_given_up_and_no_title_is_refused(
    open_list: OpenList, library: ChatLibrary
) -> None:
    async with open_list() as pilot:
        await pilot.press("ctrl+r", *"other", "down", "escape")
        await pilot.pause()
        assert not shows(pilot, "other") and screen(pilot).rows.key == 2
        await pilot.press("ctrl+r", "backspace", "enter")
        await wait_until(pilot, lambda: shows(pilot, "cannot go without a title"))
    assert titles(library) == [TITLES[2], TITLES[1], TITLES[0]]


async def test_forking_makes_a_copy_and_goes_to_it(
    open_list: OpenList, library: ChatLibrary, backend: FakeBackend
) -> None:
    async with open_list() as pilot:
        await pilot.press("down", "ctrl+f")
        await wait_until(pilot, lambda: shows(pilot, "4 chats"))
        await wait_until(pilot, lambda: screen(pilot).rows.key == 4)
        await pilot.press("enter")
        await wait_until(pilot, lambda: backend.opened_chats == [4])
    assert sorted(titles(library))[:2] == ["about apples"] * 2


async def test_a_deleted_chat_can_come_back(open_list: OpenList, library: ChatLibrary) -> None:
    async with open_list() as pilot:
        await pilot.press("down", "ctrl+d")
        await wait_until(pilot, lambda: shows(pilot, "“about apples” is deleted."))
        assert shows(pilot, "ctrl+z brings it back") and shows(pilot, "2 chats")
        assert titles(library) == [TITLES[2], TITLES[1]]
        await pilot.press("ctrl+z")
        await wait_until(pilot, lambda: shows(pilot, "3 chats"))
        assert screen(pilot).rows.key == 1 and not shows(pilot, "is deleted")
        assert len(titles(library)) == 3


async def test_deleting_is_for_good_once_the_time_is_over(
    open_list: OpenList,
    library: ChatLibrary,
    backend: FakeBackend,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(deletions, "UNDO_SECONDS", 1)
    async with open_list() as pilot:
        await pilot.press("ctrl+d")
        assert backend.new_chats == 1, "it was the open one"
        await pilot.press("escape")
        await wait_until(pilot, lambda: len(ChatLibrary(library.path).list()) == 2, 10)
        await pilot.press("ctrl+o")
        await wait_until(pilot, lambda: shows(pilot, "2 chats"))
        await pilot.press("ctrl+z")
        await pilot.pause()
        assert shows(pilot, "2 chats") and not any("●" in line for line in lines(pilot))


async def test_exporting_asks_before_it_overwrites(
    open_list: OpenList, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "about pears.md").write_text("precious")
    async with open_list() as pilot:
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ExportScreen))
        await pilot.press("enter")
        await wait_until(pilot, lambda: shows(pilot, "exists already"))
        assert (tmp_path / "about pears.md").read_text() == "precious"
        await pilot.press("enter")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ChatsScreen))
        await wait_until(pilot, lambda: shows(pilot, "is exported to"))
        assert "Fruit of the garden" in (tmp_path / "about pears.md").read_text()
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ExportScreen))
        await pilot.press("shift+tab", "down", "enter")
        field = pilot.app.screen.query_one("#path", Input)
        await wait_until(pilot, lambda: field.value.endswith("about pears.json"))
        await pilot.click("#export")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ChatsScreen))
    (chat,) = json.loads((tmp_path / "about pears.json").read_text())
    assert chat["title"] == "about pears"


async def test_what_cannot_be_written_is_told(open_list: OpenList, tmp_path: Path) -> None:
    async with open_list() as pilot:
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ExportScreen))
        (tmp_path / "file").write_text("")
        pilot.app.screen.query_one("#path", Input).value = str(tmp_path / "file" / "x.md")
        await pilot.press("enter")
        await wait_until(pilot, lambda: shows(pilot, "cannot be written"))
        await pilot.press("escape")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ChatsScreen))


async def test_without_chats_the_list_says_what_to_do(backend: FakeBackend, home: Path) -> None:
    services = Services(ChatLibrary(home / "none.db"))
    async with ChatApp(backend, services=services).run_test() as pilot:
        await wait_until(pilot, lambda: backend.started and backend.idle)
        await pilot.press("ctrl+o")
        await wait_until(pilot, lambda: shows(pilot, "No chat is kept yet."))
        for key in ("enter", "ctrl+r", "ctrl+f", "ctrl+s", "ctrl+d", "ctrl+z", "down", "pageup"):
            await pilot.press(key)
        assert shows(pilot, "No chat is kept yet.")
        await pilot.press("escape")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))
        assert prompt(pilot).has_focus


async def test_a_history_that_cannot_be_read_is_one_sentence(
    backend: FakeBackend, home: Path
) -> None:
    home.mkdir(exist_ok=True)
    (home / "broken.db").write_bytes(b"this is no database" * 100)
    services = Services(ChatLibrary(home / "broken.db"))
    async with ChatApp(backend, services=services).run_test() as pilot:
        await wait_until(pilot, lambda: backend.started and backend.idle)
        await pilot.press("ctrl+o")
        problem = pilot.app.screen.query_one("#telling", Static)
        await wait_until(pilot, lambda: "is not a readable database" in str(problem.render()))


async def test_many_chats_are_read_a_page_first(
    backend: FakeBackend, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int | None] = []

    class Slow(ChatLibrary):
        def list(self, limit: int | None = None) -> list:  # type: ignore[type-arg]
            asked.append(limit)
            if limit is None:
                raise UserError("The disk is gone.")
            return super().list(limit)

    path = home / "data" / "history.db"
    with contextlib.closing(History(path)) as history:
        history.transaction(
            lambda: [
                history.add_chat("", "", title=f"chat {n}", updated=float(n)) for n in range(150)
            ]
        )
    async with ChatApp(backend, services=Services(Slow(path))).run_test() as pilot:
        await wait_until(pilot, lambda: backend.started and backend.idle)
        await pilot.press("ctrl+o")
        await wait_until(pilot, lambda: shows(pilot, "The disk is gone."))
        assert asked == [101, None] and shows(pilot, "chat 149")


async def test_keys_that_come_fast_hit_the_row_they_were_meant_for(
    open_list: OpenList, library: ChatLibrary
) -> None:
    async with open_list() as pilot:
        await type_fast(pilot, [("up", None), ("ctrl+d", None), ("down", None)])
        await wait_until(pilot, lambda: shows(pilot, "2 chats"))
        assert titles(library) == [TITLES[1], TITLES[0]]
        await wait_until(pilot, lambda: screen(pilot).rows.key == 1)


async def test_enter_waits_for_what_was_typed_to_be_found(
    open_list: OpenList, backend: FakeBackend
) -> None:
    async with open_list() as pilot:
        await type_fast(pilot, [*((letter, letter) for letter in "apples"), ("enter", None)])
        await wait_until(pilot, lambda: backend.opened_chats == [1])
