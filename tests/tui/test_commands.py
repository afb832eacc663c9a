"""Typed commands that concern the chat."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from sssd_chat.conversation.chat_library import ChatLibrary
from sssd_chat.conversation.events import AnswerParameters, TitleChanged, VerifyDone, VerifyRunning
from sssd_chat.conversation.history import History, NewTurn
from sssd_chat.conversation.services import Services
from sssd_chat.errors import UserError
from sssd_chat.tui.app import ChatApp
from sssd_chat.tui.exporting import Export, export_wanted, write_export
from sssd_chat.tui.parameters import PARAMETERS, changed, described
from sssd_chat.tui.screens.importing import ImportScreen
from tests.tui.conftest import OpenChat
from tests.tui.fake_backend import FakeBackend, opened, shown_turn, wait_until
from tests.tui.screen import ask, ask_and_answer, paste, prompt, shows, told


async def _type(pilot: Pilot[None], command: str) -> None:
    prompt(pilot).insert_paste(command)
    await pilot.pause()
    prompt(pilot)._suggestions.close()
    await pilot.press("enter")


async def test_system_prompt(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await _type(pilot, "/system")
        await wait_until(pilot, lambda: told(pilot, "has no system prompt"))
        assert prompt(pilot).text == "/system "
        await paste(pilot, "Be brief.\nAnd kind.")
        await pilot.press("enter")
        await wait_until(pilot, lambda: backend.systems == ["Be brief.\nAnd kind."])
        await pilot.press(*"/system")
        prompt(pilot)._suggestions.close()
        await pilot.press("enter")
        assert prompt(pilot).text == "/system Be brief.\nAnd kind."
        prompt(pilot).put("")
        await _type(pilot, "/system none")
        await wait_until(pilot, lambda: backend.systems[-1] == "")


async def test_parameters(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        backend.put(opened(chat=1, parameters=AnswerParameters(top_p=0.5)))
        await wait_until(pilot, lambda: backend.idle)
        await _type(pilot, "/params temperature=0.2 thinking=false seed=7")
        wanted = AnswerParameters(temperature=0.2, top_p=0.5, thinking=False, seed=7)
        await wait_until(pilot, lambda: backend.parameters == [wanted])
        await _type(pilot, "/params")
        await wait_until(pilot, lambda: told(pilot, "temperature=0.2 top_p=0.5 seed=7"))
        await _type(pilot, "/params temperature=hot")
        await wait_until(pilot, lambda: told(pilot, "temperature cannot be 'hot': expected a num"))
        assert prompt(pilot).text == "/params temperature=hot" and len(backend.parameters) == 1


def test_every_parameter_can_be_set_and_given_back() -> None:
    names = [parameter.name for parameter in PARAMETERS]
    values = {"thinking": "true", "top_k": "5", "max_tokens": "9", "seed": "4294967295"}
    words = " ".join(f"{name}={values.get(name, '0.5')}" for name in names)
    set_all = changed(AnswerParameters(), words)
    assert all(getattr(set_all, name) is not None for name in names)
    assert changed(AnswerParameters(), described(set_all)) == set_all
    assert changed(set_all, " ".join(f"{name}=default" for name in names)) == AnswerParameters()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("temprature=1", "There is no parameter temprature; did you mean temperature?"),
        ("xyz", "There is no parameter xyz; there are temperature"),
        ("top_k", "top_k needs a value, as in top_k=40."),
        ("seed=", "seed needs a value, as in seed=1."),
        ("top_p=1.5", "top_p cannot be '1.5': expected a number from 0 to 1."),
        ("top_k=0.5", "top_k cannot be '0.5': expected a whole number"),
        ("seed=-1", "seed cannot be '-1': expected a whole number"),
        ("thinking=maybe", "thinking cannot be 'maybe': expected true or false."),
        ("temperature=nan", "temperature cannot be 'nan'"),
    ],
)
def test_wrong_parameters_are_one_sentence(words: str, says: str) -> None:
    with pytest.raises(UserError) as error:
        changed(AnswerParameters(), words)
    assert str(error.value).startswith(says)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[tuple[ChatLibrary, int]]:
    """A library with one chat in it."""
    path = tmp_path / "history.sqlite3"
    history = History(path)
    chat = history.add_chat("A fine chat?", "")
    question = history.insert(chat, None, NewTurn("user", "Why?", "done", "m"))
    history.insert(chat, question, NewTurn("assistant", "Because.", "done", "m"))
    history.close()
    yield ChatLibrary(path), chat


@asynccontextmanager
async def _chat(backend: FakeBackend, kept: tuple[ChatLibrary, int]) -> AsyncIterator[Pilot[None]]:
    library, chat = kept
    turns = (shown_turn("user", "Why?"), shown_turn("assistant", "Because."))
    backend.put(opened(*turns, chat=chat, title="A fine chat?"))
    app = ChatApp(backend, services=Services(library))
    async with app.run_test(notifications=True) as pilot:
        await wait_until(pilot, lambda: backend.started and backend.idle)
        await pilot.pause()
        yield pilot


async def test_export_never_replaces_a_file_unless_told(
    backend: FakeBackend,
    kept: tuple[ChatLibrary, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    async with _chat(backend, kept) as pilot:
        await _type(pilot, "/export md")
        file = tmp_path / "a-fine-chat.md"
        await wait_until(pilot, file.exists)
        await wait_until(pilot, lambda: told(pilot, "The chat is in a-fine-chat.md."))
        assert "Because." in file.read_text()
        file.write_text("mine")
        await _type(pilot, "/export a-fine-chat.md")
        await wait_until(pilot, lambda: told(pilot, "is there already"))
        assert file.read_text() == "mine"
        await _type(pilot, "/export a-fine-chat.md!")
        await wait_until(pilot, lambda: "Because." in file.read_text())
        await _type(pilot, "/export no/such/folder.json")
        await wait_until(pilot, lambda: told(pilot, "cannot be written: No such file"))
        await _type(pilot, "/export chat.docx")
        await wait_until(pilot, lambda: told(pilot, "has to end with .md or .json"))


async def test_a_chat_that_is_not_kept_cannot_be_exported_or_renamed(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await _type(pilot, "/export md")
        await wait_until(pilot, lambda: told(pilot, "nothing to export"))
        await _type(pilot, "/rename x")
        await wait_until(pilot, lambda: told(pilot, "not kept yet"))


@pytest.mark.parametrize(
    ("words", "path", "form"),
    [
        ("", "my-chat.md", "md"),
        ("json", "my-chat.json", "json"),
        ("x.JSON", "x.JSON", "json"),
        ("'a b.md' !", "a b.md", "md"),
    ],
)
def test_names_of_exports(words: str, path: str, form: str) -> None:
    assert export_wanted(words, "My/chat \x1b?") == Export(Path(path), form, "!" in words)


def test_an_export_into_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.md").mkdir()
    with pytest.raises(UserError):
        write_export(Export(tmp_path / "x.md", "md", True), "text")


async def test_rename_changes_history_and_terminal(
    backend: FakeBackend, kept: tuple[ChatLibrary, int]
) -> None:
    library, chat = kept
    async with _chat(backend, kept) as pilot:
        assert pilot.app.title == "A fine chat? – sssd-chat"
        await _type(pilot, "/rename Better \x1b[31mname")
        await wait_until(pilot, lambda: "Better" in pilot.app.title)
        assert "\x1b" not in pilot.app.title
        assert library.list()[0].title.startswith("Better")
        backend.put(TitleChanged(chat, "From\x07 elsewhere"))
        await wait_until(pilot, lambda: pilot.app.title == "From elsewhere – sssd-chat")


@pytest.mark.parametrize("ok", [True, False])
async def test_verify_shows_how_far_it_is_and_what_came_of_it(
    open_chat: OpenChat, backend: FakeBackend, ok: bool
) -> None:
    async with open_chat() as pilot:
        await ask_and_answer(pilot, backend, "hi", "hello")
        await _type(pilot, "/verify")
        await wait_until(pilot, lambda: backend.verified == 1)
        backend.put(VerifyRunning(12, 80))
        await wait_until(pilot, lambda: shows(pilot, "12 of 80 tokens"))
        await pilot.press("escape")
        await wait_until(pilot, lambda: backend.cancelled == 1)
        backend.put(VerifyDone(ok, "80 tokens are the same."))
        await wait_until(pilot, lambda: told(pilot, "80 tokens are the same."))
        assert not shows(pilot, "12 of 80 tokens")
        await pilot.press("escape")
        assert backend.cancelled == 1


async def test_import_begins_with_the_path(open_chat: OpenChat) -> None:
    async with open_chat() as pilot:
        await _type(pilot, "/import '/my papers'")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ImportScreen))
        assert pilot.app.screen.query_one("#path", Input).value == "/my papers"


async def test_verify_waits_for_the_answer(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await ask(pilot, backend)
        await _type(pilot, "/verify")
        await wait_until(pilot, lambda: told(pilot, "verify it when it is finished"))
        assert backend.verified == 0
