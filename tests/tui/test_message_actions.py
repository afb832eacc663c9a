"""The message mode: what single keys do with a message, pressed with the prompt focused."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from sssd_chat.conversation.events import (
    AnswerFailed,
    AnswerParameters,
    AnswerStatistics,
    StoppedBy,
    TurnDeleted,
)
from sssd_chat.tui.screens.chat import ChatScreen
from sssd_chat.tui.widgets.message_footer import MessageFooter
from sssd_chat.tui.widgets.turn import Turn
from tests.tui.conftest import OpenChat
from tests.tui.fake_backend import FakeBackend, opened, shown_turn, wait_until
from tests.tui.screen import answers, ask, lines, note, prompt, questions, shows

CODE = "Two ways:\n\n```python\nfirst = 1\n```\n\nor\n\n~~~\nsecond\nthird\n~~~\n"


def two_turns() -> tuple[object, ...]:
    return (
        shown_turn("user", "What is a trie?"),
        shown_turn("assistant", CODE, position=1, siblings=3, statistics=statistics()),
        shown_turn("user", "And a suffix array?"),
        shown_turn("assistant", "A sorted list of all suffixes."),
    )


def statistics() -> AnswerStatistics:
    return AnswerStatistics(
        prompt_tokens=60, reused_tokens=20, emitted=40, steps=16, decode_seconds=1.0
    )


async def open_two(pilot: Pilot[None], backend: FakeBackend) -> None:
    backend.put(opened(*two_turns()))
    await wait_until(pilot, lambda: len(answers(pilot)) == 2)
    await pilot.pause()


def selected(pilot: Pilot[None]) -> list[Turn]:
    return list(pilot.app.screen.query("Turn.-selected").results(Turn))


def screen(pilot: Pilot[None]) -> ChatScreen:
    assert isinstance(pilot.app.screen, ChatScreen)
    return pilot.app.screen


async def test_keys_select_messages_and_escape_goes_back(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await pilot.press("alt+up")
        await wait_until(pilot, lambda: shows(pilot, "There is no message yet."))
        await open_two(pilot, backend)
        assert prompt(pilot).has_focus
        for expected in (answers(pilot)[1], questions(pilot)[1], answers(pilot)[0]):
            await pilot.press("alt+up")
            assert selected(pilot) == [expected]
        await pilot.press("up", "up")
        assert selected(pilot) == [questions(pilot)[0]], "there is none before the first"
        await pilot.press("down")
        assert selected(pilot) == [answers(pilot)[0]]
        await pilot.press("escape")
        assert not selected(pilot) and not backend.cancelled
        await pilot.press("ctrl+t", "alt+down")
        assert not selected(pilot), "behind the last one is the prompt"
        await pilot.press("alt+up", "x", "e")
        assert not selected(pilot)
        assert prompt(pilot).text == "xe", "who types is back in the prompt"


async def test_copying_a_message_and_its_blocks_of_code(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await open_two(pilot, backend)
        await pilot.press("alt+up", "c")
        assert pilot.app.clipboard == "A sorted list of all suffixes."
        await pilot.press("k")
        await wait_until(pilot, lambda: shows(pilot, "no block of code"))
        await pilot.press("up", "c")
        assert pilot.app.clipboard == "And a suffix array?"
        await pilot.press("up", "k")
        assert pilot.app.clipboard == "first = 1\n"
        await wait_until(pilot, lambda: shows(pilot, "Block 1 of 2 copied: python, 1 line."))
        await pilot.press("k")
        assert pilot.app.clipboard == "second\nthird\n"
        await wait_until(pilot, lambda: shows(pilot, "Block 2 of 2 copied: 2 lines."))
        await pilot.press("k")
        assert pilot.app.clipboard == "first = 1\n"


async def test_editing_a_question_asks_it_anew_as_a_branch(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await open_two(pilot, backend)
        await pilot.press(*"half", "alt+up", "alt+up", "e")
        assert prompt(pilot).text == "And a suffix array?"
        await wait_until(pilot, lambda: shows(pilot, "editing question 2 · Esc gives up"))
        await pilot.press("escape")
        assert prompt(pilot).text == "half", "what stood there before comes back"
        assert not shows(pilot, "editing question")
        await pilot.press("alt+up", "alt+up", "e", *" now", "enter")
        assert backend.asked_instead == [(3, "And a suffix array? now")]
        assert prompt(pilot).text == "half"
        backend.put(opened(*two_turns()[:2]))
        backend.keep_question(7, position=1, siblings=2)
        backend.read_prompt(9, 9)
        backend.step("Sorted")
        await wait_until(pilot, lambda: shows(pilot, "Sorted"))
        assert questions(pilot)[-1].said.text == "And a suffix array? now"
        await wait_until(pilot, lambda: shows(pilot, "‹ 2/2 ›"))
        backend.finish("Sorted suffixes.", turn=8)
        await wait_until(pilot, lambda: shows(pilot, "Sorted suffixes."))
        assert [one.said.turn for one in answers(pilot)] == [2, 8]
        await ask(pilot, backend, " and half")
        assert backend.asked == ["half and half"], "the next question is no edit any more"


async def test_another_answer_takes_the_place_of_the_old_one(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await open_two(pilot, backend)
        kept = questions(pilot)
        await pilot.press("alt+up", "r")
        assert backend.regenerated == [(4, None)]
        await pilot.press("alt+up", "r")
        await wait_until(pilot, lambda: shows(pilot, "is on its way"))
        assert len(backend.regenerated) == 1
        backend.put(opened(*two_turns()[:3]))
        backend.read_prompt(9, 9)
        backend.stream("Another answer.")
        backend.finish("Another answer.", turn=9, position=1, siblings=2)
        await wait_until(pilot, lambda: shows(pilot, "Another answer."))
        assert questions(pilot) == kept, "what stays is not drawn anew"
        assert not shows(pilot, "A sorted list")
        await wait_until(pilot, lambda: shows(pilot, "‹ 2/2 ›"))


async def test_another_answer_with_other_parameters(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await open_two(pilot, backend)
        await pilot.press("alt+up", "R")
        await wait_until(pilot, lambda: pilot.app.screen.query(Input))
        await pilot.press(*"warm", "enter")
        await wait_until(pilot, lambda: "expected a number" in problem(pilot))
        pilot.app.screen.query_one("#temperature", Input).value = "0.2"
        pilot.app.screen.query_one("#seed", Input).value = "7"
        await pilot.press("enter")
        await wait_until(pilot, lambda: backend.regenerated)
        assert backend.regenerated == [(4, AnswerParameters(temperature=0.2, seed=7))]


def problem(pilot: Pilot[None]) -> str:
    return str(pilot.app.screen.query_one("#problem", Static).render())


async def test_the_last_answer_goes_on(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await open_two(pilot, backend)
        await pilot.press("alt+up", "up", "up", "n")
        await wait_until(pilot, lambda: shows(pilot, "Only the last answer can go on."))
        assert not backend.continued
        await pilot.press("escape", "alt+up", "n")
        assert backend.continued == [4]
        backend.step(" And more.")
        await wait_until(pilot, lambda: shows(pilot, "A sorted list of all suffixes. And more."))
        whole = "A sorted list of all suffixes. And more.\n\n```\nx = 1\n```"
        backend.finish(whole, StoppedBy.CANCELLED, turn=4)
        await wait_until(pilot, lambda: note(answers(pilot)[1]).startswith("■ stopped"))
        assert shows(pilot, "x = 1")
        assert len(answers(pilot)) == 2


async def test_deleting_asks_first_and_says_what_goes(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await open_two(pilot, backend)
        await pilot.press("alt+up", "up", "up", "d")
        await wait_until(pilot, lambda: shows(pilot, "Delete this answer and 2 messages after it?"))
        await pilot.press("n")
        await pilot.pause()
        assert not backend.deleted_turns
        await pilot.press("d")
        await wait_until(pilot, lambda: shows(pilot, "Delete this answer"))
        await pilot.press("y")
        await wait_until(pilot, lambda: backend.deleted_turns == [2])
        backend.put(TurnDeleted(2))
        await wait_until(pilot, lambda: not answers(pilot))
        assert len(questions(pilot)) == 1
        backend.put(TurnDeleted(1))
        await wait_until(pilot, lambda: shows(pilot, "Ask it something."))


async def test_branches_are_counted_and_chosen(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat(size=(80, 40)) as pilot:
        await open_two(pilot, backend)
        await wait_until(pilot, lambda: shows(pilot, "‹ 2/3 ›"))
        await pilot.press("alt+up", "right")
        await wait_until(pilot, lambda: shows(pilot, "There is no branch after this one."))
        await pilot.press("up", "up", "left", "right")
        assert backend.chosen_siblings == [(2, -1), (2, 1)]
        third = shown_turn("assistant", "The third way.", id=12, position=2, siblings=3)
        backend.put(opened(two_turns()[0], third))
        await wait_until(pilot, lambda: shows(pilot, "The third way."))
        await wait_until(pilot, lambda: shows(pilot, "‹ 3/3 ›"))
        assert not shows(pilot, "And a suffix array?")
        assert [turn.said.turn for turn in selected(pilot)] == [12], "it can be gone on from there"


async def test_statistics_of_an_answer(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await open_two(pilot, backend)
        await pilot.press("alt+up", "s")
        await wait_until(pilot, lambda: shows(pilot, "How this was written is not known."))
        await pilot.press("escape", "f6")
        await wait_until(pilot, lambda: shows(pilot, "Statistics of the answer"))
        assert shows(pilot, "39.0 tokens/s") and shows(pilot, "40 tokens in 16 steps, 1.00 s")
        await pilot.press("escape")
        await wait_until(pilot, lambda: not shows(pilot, "Statistics of the answer"))


async def test_the_mouse_selects_and_acts(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat(size=(80, 40)) as pilot:
        await open_two(pilot, backend)
        await pilot.hover(answers(pilot)[1])
        await wait_until(pilot, lambda: shows(pilot, "c copy   r again"))
        assert not selected(pilot)
        before = lines(pilot)
        await pilot.hover(questions(pilot)[1])
        await wait_until(pilot, lambda: shows(pilot, "e edit"))
        assert [line.strip() for line in lines(pilot) if "suffix" in line] == [
            line.strip() for line in before if "suffix" in line
        ], "nothing moves"
        await pilot.click(answers(pilot)[1])
        assert selected(pilot) == [answers(pilot)[1]]
        await pilot.click(answers(pilot)[1].query_one(MessageFooter), offset=(2, 0))
        assert pilot.app.clipboard == "A sorted list of all suffixes."
        await pilot.press(*"xy")
        assert prompt(pilot).text == "xy"


async def test_the_palette_acts_on_the_last_message_that_fits(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await open_two(pilot, backend)
        commands = {command.title for command in pilot.app.get_system_commands(screen(pilot))}
        assert {"Copy a block of code", "Edit the question", "Answer again"} <= commands
        screen(pilot).action_copy_code()
        assert pilot.app.clipboard == "first = 1\n"
        screen(pilot).action_edit_message()
        assert prompt(pilot).text == "And a suffix array?"


async def test_a_branch_that_fails_leaves_the_chat(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await open_two(pilot, backend)
        await pilot.press("alt+up", "r")
        backend.put(AnswerFailed("The memory is full [/x]."))
        await wait_until(pilot, lambda: shows(pilot, "The memory is full [/x]."))
        assert len(answers(pilot)) == 2
        await ask(pilot, backend, "next")
        assert backend.asked == ["next"]


@pytest.mark.parametrize("key", ["c", "k", "e", "r", "n", "d", "s", "o", "R"])
async def test_outside_the_mode_letters_are_typed(
    open_chat: OpenChat, backend: FakeBackend, key: str
) -> None:
    async with open_chat() as pilot:
        await open_two(pilot, backend)
        await pilot.press(key)
        assert prompt(pilot).text == key


async def test_another_chat_ends_the_editing(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await open_two(pilot, backend)
        await pilot.press(*"half", "alt+up", "alt+up", "e")
        await wait_until(pilot, lambda: shows(pilot, "editing question 2"))
        backend.put(opened(*two_turns()[:2], chat=2, prompt="kept"))
        await wait_until(pilot, lambda: prompt(pilot).text == "kept")
        await wait_until(pilot, lambda: not shows(pilot, "editing question"))
        await ask(pilot, backend, " text")
        assert backend.asked == ["kept text"] and not backend.asked_instead
