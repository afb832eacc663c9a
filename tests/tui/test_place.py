"""Following the end, reading back, long chats and resizing."""

from __future__ import annotations

from textual.pilot import Pilot

from tests.tui.conftest import OpenChat
from tests.tui.fake_backend import FakeBackend, opened, shown_turn, wait_until
from tests.tui.screen import (
    answers,
    ask,
    ask_and_answer,
    lines,
    prompt,
    shows,
    transcript,
    wait_for_end,
)

PARAGRAPHS = "\n\n".join(f"Paragraph number {number}." for number in range(60))
HINT = "more below"


def top_line(pilot: Pilot[None]) -> str:
    return next(line.strip() for line in lines(pilot) if "Paragraph" in line)


async def test_follows_while_text_comes(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await ask(pilot, backend)
        backend.stream(PARAGRAPHS)
        await wait_until(pilot, lambda: shows(pilot, "Paragraph number 59."))
        assert not shows(pilot, HINT)
        backend.finish(PARAGRAPHS)
        await wait_for_end(pilot)
        await wait_until(pilot, lambda: shows(pilot, "tokens/step"))


async def test_reading_back_stays_and_says_so(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await ask(pilot, backend)
        backend.stream(PARAGRAPHS)
        await wait_until(pilot, lambda: shows(pilot, "Paragraph number 59."))
        await pilot.press("pageup", "pageup")
        await wait_until(pilot, lambda: shows(pilot, HINT))
        before = top_line(pilot)
        backend.stream("\n\nMore text.\n\n" * 20)
        await pilot.pause(0.4)
        assert top_line(pilot) == before
        backend.finish(PARAGRAPHS + "\n\nMore text.\n\n" * 20)
        await wait_for_end(pilot)
        await pilot.pause(0.1)
        assert top_line(pilot) == before
        await pilot.press("ctrl+end")
        await wait_until(pilot, lambda: not shows(pilot, HINT))
        assert transcript(pilot).at_end


async def test_coming_back_to_the_end_follows_again(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await ask(pilot, backend)
        backend.stream(PARAGRAPHS)
        await wait_until(pilot, lambda: shows(pilot, "Paragraph number 59."))
        await pilot.press("pageup")
        await wait_until(pilot, lambda: shows(pilot, HINT))
        await pilot.press("pagedown", "pagedown")
        await wait_until(pilot, lambda: not shows(pilot, HINT))
        backend.stream("\n\nThe very last line.")
        await wait_until(pilot, lambda: shows(pilot, "The very last line."))


async def test_a_new_question_follows(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await ask_and_answer(pilot, backend, "first", PARAGRAPHS)
        await pilot.press("ctrl+home")
        await wait_until(pilot, lambda: shows(pilot, HINT))
        await ask(pilot, backend, "second question")
        await wait_until(pilot, lambda: shows(pilot, "second question"))
        assert not shows(pilot, HINT)


async def test_a_click_on_the_hint_follows(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await ask_and_answer(pilot, backend, "first", PARAGRAPHS)
        await pilot.press("pageup")
        await wait_until(pilot, lambda: shows(pilot, HINT))
        await pilot.click("FollowHint")
        await wait_until(pilot, lambda: not shows(pilot, HINT))


async def test_a_short_chat_begins_at_the_top(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat(size=(100, 50)) as pilot:
        await ask_and_answer(pilot, backend, "first", "Short.")
        assert "You" in lines(pilot)[1]
        assert not shows(pilot, HINT)


async def test_resizing_keeps_the_line_that_is_read(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    text = "\n\n".join(f"Paragraph {number}: " + "word " * 40 for number in range(40))
    async with open_chat(size=(90, 30)) as pilot:
        await ask_and_answer(pilot, backend, "first", text)
        for _ in range(5):
            await pilot.press("pageup")
        await wait_until(pilot, lambda: shows(pilot, HINT))
        await pilot.pause(0.1)
        before = top_line(pilot)
        for size in ((60, 30), (90, 20), (70, 40)):
            await pilot.resize_terminal(*size)
            await pilot.pause(0.3)
            assert any(before[:13] in line for line in lines(pilot)[:14]), (size, before)


async def test_resizing_while_following_stays_at_the_end(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat(size=(120, 30)) as pilot:
        await ask_and_answer(pilot, backend, "first", PARAGRAPHS)
        await pilot.resize_terminal(60, 20)
        await wait_until(pilot, lambda: shows(pilot, "Paragraph number 59."))
        assert not shows(pilot, HINT)


async def test_far_turns_are_no_widgets_and_come_back(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        for number in range(6):
            await ask_and_answer(pilot, backend, f"question {number}", PARAGRAPHS[:700])
        assert len(answers(pilot)) < 6
        await pilot.press("ctrl+home")
        await wait_until(pilot, lambda: shows(pilot, "question 0"))
        assert len(answers(pilot)) == 6
        await ask(pilot, backend, "the next")
        await wait_until(pilot, lambda: len(answers(pilot)) < 6)


async def test_scrolling_up_brings_turns_and_keeps_the_place(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        for number in range(6):
            text = f"Begin {number}.\n\n{PARAGRAPHS[:600]}"
            await ask_and_answer(pilot, backend, f"question {number}", text)
        mounted = len(answers(pilot))
        first = answers(pilot)[0].said.text.partition("\n")[0]
        for _ in range(40):
            await pilot.press("pageup")
            if len(answers(pilot)) > mounted:
                break
        await wait_until(pilot, lambda: transcript(pilot).scroll_offset.y > 0)
        assert len(answers(pilot)) > mounted
        assert shows(pilot, first)


async def test_a_chat_of_500_turns_stays_quick(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        turns = [
            shown_turn(("user", "assistant")[number % 2], f"{number}. {PARAGRAPHS[:100]}")
            for number in range(1000)
        ]
        backend.put(opened(*turns))
        await wait_until(pilot, lambda: shows(pilot, "999. Paragraph number 0."))
        await ask_and_answer(pilot, backend, "the next", PARAGRAPHS)
        assert len(answers(pilot)) <= 6, "the others are no widgets"
        await pilot.press(*"typed")
        assert prompt(pilot).text == "typed"
        await pilot.press("alt+up", "up", "up")
        await wait_until(pilot, lambda: shows(pilot, "999. Paragraph number 0."))
        assert len(answers(pilot)) <= 6
        await pilot.press("escape", "ctrl+home")
        await wait_until(pilot, lambda: len(answers(pilot)) >= 21, 20)
        await pilot.pause(0.5)
        assert len(answers(pilot)) <= 40, "the rest waits for the reader"
