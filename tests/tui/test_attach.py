"""Documents that go along with the next question."""

from __future__ import annotations

import pytest

from sssd_chat.conversation.attachments import Attachment, with_attachments
from sssd_chat.conversation.events import (
    Attached,
    AttachmentsChanged,
)
from sssd_chat.tui.actions import action_called
from sssd_chat.tui.slash import command_in, typed_path
from tests.tui.conftest import OpenChat
from tests.tui.fake_backend import FakeBackend, opened, shown_turn, wait_until
from tests.tui.screen import ask, prompt, shows, told


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/attach notes.txt", "notes.txt"),
        ("/attach  ~/my notes.txt \n", "~/my notes.txt"),
        ("/attach '/a b/c.pdf'", "/a b/c.pdf"),
        ('/attach "c.pdf"', "c.pdf"),
        ("/attach /a\\ b/c.pdf", "/a b/c.pdf"),
        ("/attach", ""),
    ],
)
def test_commands(text: str, path: str) -> None:
    found = command_in(text)
    assert found is not None and found.action is action_called("attach")
    assert typed_path(found.argument) == path


@pytest.mark.parametrize(
    "text", ["attach it", " /attach", "/attach a\nand more", "say /attach x", "/usr/bin", "/"]
)
def test_questions(text: str) -> None:
    assert command_in(text) is None


async def test_a_document_goes_along(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        prompt(pilot).insert_paste("/attach notes.txt")
        await pilot.press("enter")
        await wait_until(pilot, lambda: backend.attached == ["notes.txt"])
        assert backend.asked == [] and prompt(pilot).text == ""
        backend.put(AttachmentsChanged((Attached("notes.txt", 12, 1234),)))
        await wait_until(pilot, lambda: shows(pilot, "⟦notes.txt⟧ 1,234 of 8,192 tokens"))
        await ask(pilot, backend, "Why?")
        assert backend.asked == ["Why?"]
        backend.put(AttachmentsChanged(()))
        await wait_until(pilot, lambda: shows(pilot, "⟦notes.txt: 12 lines⟧"))
        await wait_until(pilot, lambda: not shows(pilot, "1,234 of"))
        backend.answer("Because.")


async def test_commands_are_taken_while_an_answer_is_written(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await ask(pilot, backend, "Why?")
        prompt(pilot).insert_paste("/attach notes.txt")
        await pilot.press("enter")
        await wait_until(pilot, lambda: backend.attached == ["notes.txt"])
        prompt(pilot).insert_paste("more")
        await pilot.press("enter")
        await wait_until(pilot, lambda: shows(pilot, "An answer is on its way"))
        assert backend.asked == ["Why?"]


async def test_without_a_path_it_asks_for_one(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await pilot.press(*"/attach", "enter")
        await wait_until(pilot, lambda: shows(pilot, "Which document?"))
        await pilot.press(*"/detach", "enter")
        await wait_until(pilot, lambda: backend.detached == 1)
        assert backend.attached == [] and prompt(pilot).text == ""


async def test_a_command_that_there_is_not_stays_in_the_prompt(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await pilot.press(*"/atach", "space", "x", "enter")
        await wait_until(pilot, lambda: told(pilot, "did you mean /attach?"))
        assert prompt(pilot).text == "/atach x" and backend.asked == []
        await pilot.press("home", "space", "enter")
        await wait_until(pilot, lambda: backend.asked == [" /atach x"])


async def test_a_restored_question_shows_a_line_for_a_document(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    message = with_attachments("Why?", [Attachment("notes.txt", "secret\ntext")])
    async with open_chat() as pilot:
        turns = (
            shown_turn("user", message, True, "m"),
            shown_turn("assistant", "Because.", True, "m"),
        )
        backend.put(opened(*turns))
        await wait_until(pilot, lambda: shows(pilot, "⟦notes.txt: 2 lines⟧"))
        assert shows(pilot, "Why?") and not shows(pilot, "secret")
