"""Typing, sending, history and pastes."""

from __future__ import annotations

from tests.tui.conftest import OpenChat
from tests.tui.fake_backend import FakeBackend, wait_until
from tests.tui.screen import ask_and_answer, lines, paste, prompt, questions, type_fast


async def test_enter_sends_and_empties_the_prompt(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await pilot.press(*"hello", "enter")
        await wait_until(pilot, lambda: backend.asked == ["hello"])
        assert prompt(pilot).text == ""
        assert [question.said.text for question in questions(pilot)] == ["hello"]


async def test_blank_prompt_is_not_sent(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await pilot.press("space", "enter", "a", "enter")
        await wait_until(pilot, lambda: backend.asked)
        assert backend.asked == [" a"]


async def test_newline_keys(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await pilot.press("a", "ctrl+j", "b", "shift+enter", "c", "enter")
        await wait_until(pilot, lambda: backend.asked == ["a\nb\nc"])


async def test_keys_that_arrive_at_once_stay_in_order(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        word = [(letter, letter) for letter in "one"]
        await type_fast(pilot, [*word, ("ctrl+j", "\n"), *word, ("enter", "\r"), ("x", "x")])
        await wait_until(pilot, lambda: backend.asked == ["one\none"])
        await wait_until(pilot, lambda: prompt(pilot).text == "x")


async def test_paste_of_several_lines_is_one_question(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await paste(pilot, "first\r\nsecond\rthird\n")
        assert backend.asked == []
        await pilot.press("enter")
        await wait_until(pilot, lambda: backend.asked == ["first\nsecond\nthird\n"])


async def test_huge_paste_is_a_chip_that_expands(open_chat: OpenChat, backend: FakeBackend) -> None:
    huge = "\n".join(f"line {number}" for number in range(5000))
    async with open_chat() as pilot:
        await pilot.press(*"see ")
        await paste(pilot, huge)
        assert prompt(pilot).text == "see ⟦paste 1: 5,000 lines⟧"
        await pilot.press("!", "enter")
        await wait_until(pilot, lambda: backend.asked == [f"see {huge}!"])


async def test_chip_goes_as_one(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await pilot.press("a")
        await paste(pilot, "x" * 3000)
        await pilot.press("b", "left", "left", "c", "right", "backspace", "enter")
        await wait_until(pilot, lambda: backend.asked == ["acb"])


async def test_cursor_cannot_enter_a_chip(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await paste(pilot, "x" * 3000)
        prompt(pilot).move_cursor((0, 5))
        await pilot.press("y", "enter")
        await wait_until(pilot, lambda: backend.asked)
        assert backend.asked[0] in ("y" + "x" * 3000, "x" * 3000 + "y")


async def test_word_deletion_takes_a_chip_whole(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await paste(pilot, "x" * 3000)
        await pilot.press("home", "alt+delete")
        assert prompt(pilot).text == ""
        await paste(pilot, "y" * 3000)
        await pilot.press("ctrl+w")
        assert prompt(pilot).text == ""


async def test_pasted_control_characters_are_sent_but_not_drawn(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await paste(pilot, "\x1b[31mred\x07")
        assert "\x1b" not in "".join(lines(pilot))
        await pilot.press("enter")
        await wait_until(pilot, lambda: backend.asked == ["\x1b[31mred\x07"])
        assert "\x1b" not in "".join(lines(pilot))


async def test_history_at_the_edges(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        for question in ("one", "two\nlines"):
            await ask_and_answer(pilot, backend, question, "fine")
        await pilot.press(*"new", "up")
        assert prompt(pilot).text == "two\nlines"
        await pilot.press("up")
        assert prompt(pilot).text == "two\nlines", "a line up first"
        await pilot.press("up")
        assert prompt(pilot).text == "one"
        await pilot.press("up")
        assert prompt(pilot).text == "one"
        await pilot.press("down", "down")
        assert prompt(pilot).text == "new"


async def test_recalled_chip_expands_again(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await paste(pilot, "z" * 2000)
        await pilot.press("enter")
        await wait_until(pilot, lambda: backend.asked)
        backend.answer("fine")
        await wait_until(pilot, lambda: not pilot.app.screen._state.busy)  # type: ignore[attr-defined]
        await pilot.press("up", "enter")
        await wait_until(pilot, lambda: backend.asked == ["z" * 2000] * 2)


async def test_prompt_grows_with_its_text_up_to_a_limit(open_chat: OpenChat) -> None:
    async with open_chat() as pilot:
        low = prompt(pilot).size.height
        await pilot.press("a", "ctrl+j", "b")
        await wait_until(pilot, lambda: prompt(pilot).size.height == low + 1)
        await pilot.press(*["ctrl+j"] * 30)
        assert prompt(pilot).outer_size.height <= 10


async def test_typing_after_a_click_into_the_transcript(open_chat: OpenChat) -> None:
    async with open_chat() as pilot:
        await pilot.click("Transcript")
        pilot.app.screen.set_focus(None)
        await pilot.press(*"abc")
        assert prompt(pilot).text == "abc"
