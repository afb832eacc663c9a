"""Thinking, the end of the context, and what is told to the engine while typing."""

from __future__ import annotations

import dataclasses

import pytest

from sssd_chat.conversation.events import (
    ContextFilled,
    StoppedBy,
    TurnsLeftOut,
)
from sssd_chat.tui.app import ChatApp
from tests.tui.conftest import OpenChat
from tests.tui.fake_backend import MODEL, FakeBackend, opened, shown_turn, wait_until
from tests.tui.screen import (
    answers,
    ask,
    ask_and_answer,
    lines,
    prompt,
    shows,
    source,
    wait_for_end,
)

LEFT_OUT = "Up to here the chat is no longer in the prompt"


def line_of(pilot: object, text: str) -> int:
    return next(number for number, line in enumerate(lines(pilot)) if text in line)  # type: ignore[arg-type]


async def test_thinking_is_folded_while_it_is_written_and_afterwards(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await ask(pilot, backend)
        backend.think("first I look ")
        await wait_until(pilot, lambda: shows(pilot, "thinking, 3 words so far"))
        assert not shows(pilot, "first I look")
        backend.think("at \x1b[31mit")
        backend.step("The answer.")
        await wait_until(pilot, lambda: shows(pilot, "thought in 5 words"))
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: shows(pilot, "first I look at [31mit"))
        backend.finish("The answer.", thinking="first I look at \x1b[31mit")
        await wait_until(pilot, lambda: shows(pilot, "tokens/s") or shows(pilot, "9 tokens"))
        assert shows(pilot, "first I look") and shows(pilot, "The answer.")
        assert source(answers(pilot)[0]) == "The answer."
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: not shows(pilot, "first I look"))
        await pilot.press(*"/copy", "enter")
        await wait_until(pilot, lambda: pilot.app.clipboard == "The answer.")


async def test_a_click_unfolds_one_answer_and_the_key_all(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat(size=(100, 40)) as pilot:
        for number in (1, 2):
            await ask(pilot, backend, f"question {number}")
            backend.think(f"thought {number}a thought {number}b")
            backend.finish(f"answer {number}", thinking=f"thought {number}a thought {number}b")
            await wait_until(pilot, lambda n=number: shows(pilot, f"answer {n}"))  # type: ignore[misc]
        await pilot.click(answers(pilot)[0].query_one(".thinking"))
        await wait_until(pilot, lambda: shows(pilot, "thought 1a"))
        assert not shows(pilot, "thought 2a")
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: shows(pilot, "thought 1a") and shows(pilot, "thought 2a"))


async def test_an_answer_without_thinking_has_no_line_for_it(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await ask_and_answer(pilot, backend, "first", "Plain.")
        assert not shows(pilot, "thought in")


async def test_an_answer_stopped_while_thinking_is_not_called_empty(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await ask(pilot, backend)
        backend.think("on and on")
        backend.finish("", StoppedBy.CANCELLED, thinking="on and on")
        await wait_until(pilot, lambda: shows(pilot, "stopped"))
        assert not shows(pilot, "nothing was written")


async def test_the_transcript_shows_where_the_prompt_begins(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat(size=(120, 50)) as pilot:
        await ask_and_answer(pilot, backend, "question 1", "answer 1")
        await ask(pilot, backend, "question without an answer")
        backend.finish("", StoppedBy.CANCELLED)
        await wait_until(pilot, lambda: shows(pilot, "nothing was written"))
        for number in (2, 3):
            await ask_and_answer(pilot, backend, f"question {number}", f"answer {number}")
        await ask(pilot, backend, "question 4")
        backend.put(TurnsLeftOut(2))
        await wait_until(pilot, lambda: shows(pilot, LEFT_OUT) and shows(pilot, "2 early turns"))
        assert line_of(pilot, "answer 2") < line_of(pilot, LEFT_OUT) < line_of(pilot, "question 3")
        backend.put(TurnsLeftOut(3))
        await wait_until(pilot, lambda: shows(pilot, "3 early turns"))
        assert line_of(pilot, "answer 3") < line_of(pilot, LEFT_OUT) < line_of(pilot, "question 4")
        backend.finish("", StoppedBy.CANCELLED)
        await wait_for_end(pilot)
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: not shows(pilot, "early turns"))


async def test_a_restored_chat_shows_it_too() -> None:
    turns = [
        shown_turn("user", "question 1", True, "m"),
        shown_turn("assistant", "", False, "m"),
        shown_turn("user", "question 2", True, "m"),
        shown_turn("assistant", "", True, "m", "a thought"),
        shown_turn("user", "question 3", True, "m"),
        shown_turn("assistant", "answer 3", True, "m"),
    ]
    backend = FakeBackend()
    backend.put(opened(*turns), TurnsLeftOut(1), ContextFilled(2048))
    async with ChatApp(backend).run_test(size=(120, 50)) as pilot:
        await wait_until(pilot, lambda: shows(pilot, "2,048 of 8,192"))
        assert line_of(pilot, "thought in 2 words") < line_of(pilot, LEFT_OUT)
        assert line_of(pilot, LEFT_OUT) < line_of(pilot, "question 3")


async def test_an_answer_that_hits_the_end_of_the_context_says_so(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await ask(pilot, backend)
        backend.answer("word " * 20, StoppedBy.CONTEXT)
        await wait_until(pilot, lambda: shows(pilot, "cut, the context is full"))


async def test_what_is_typed_is_told_to_the_engine(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await pilot.press(*"why")
        await wait_until(pilot, lambda: backend.drafts[-1:] == ["why"])
        prompt(pilot).insert_paste("long " * 400)
        await wait_until(pilot, lambda: backend.drafts[-1] == "why" + "long " * 400)
        await pilot.press("enter")
        await wait_until(pilot, lambda: backend.drafts[-1] == "")


@pytest.mark.parametrize(("tokens", "share"), [(512, "6 %"), (8000, "98 %")])
async def test_the_panel_shows_how_full_the_context_is(tokens: int, share: str) -> None:
    backend = FakeBackend(dataclasses.replace(MODEL, name="Full"))
    backend.put(ContextFilled(tokens))
    async with ChatApp(backend).run_test(size=(120, 50)) as pilot:
        await wait_until(pilot, lambda: shows(pilot, f"{tokens:,} of 8,192"))
        assert shows(pilot, share)
