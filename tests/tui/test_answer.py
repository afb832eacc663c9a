"""Answers while they are written, when they end, and odd text in them."""

from __future__ import annotations

from sssd_chat.conversation.events import AnswerFailed, Notice, StoppedBy
from tests.tui.conftest import OpenChat
from tests.tui.fake_backend import FakeBackend, wait_until
from tests.tui.screen import (
    answers,
    ask,
    ask_and_answer,
    lines,
    note,
    prompt,
    questions,
    shows,
    source,
    type_fast,
    wait_for_end,
)

ODD_TEXTS = {
    "closing tag": "before [/x] [bold]after[/] [@click=app.quit]here[/]",
    "escape": "a\x1b[2J\x1b]0;title\x07b",
    "c1": "a\x9b31mb\x90c",
    "breaks": "one\u2028two\x0bthree\x0cfour\x85five",
    "bidi": "abc\u202edef\u2066ghi",
    "wide": "日本語のテキスト 👩‍👩‍👧‍👦 emoji 🇨🇭 한국어",
    "surrogate": "half \ud83d a pair",
    "null": "nul\x00 and del\x7f",
    "html": "<div>kept</div> and <script>x</script>",
    "open bracket": "[link](",
    "table": "| a | b |\n|---|",
}


async def test_streams_and_ends_with_the_whole_text(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    text = "# Title\n\nSome *words*.\n\n- one\n- two\n\n```python\nx = 1\n```\n\nEnd."
    async with open_chat(size=(80, 40)) as pilot:
        await ask(pilot, backend)
        backend.read_prompt(10, 10)
        backend.stream(text)
        await wait_until(pilot, lambda: source(answers(pilot)[0]) == text)
        backend.finish(text)
        await wait_for_end(pilot)
        assert source(answers(pilot)[0]) == text
        for shown in ("Title", "Some words.", "• one", "x = 1", "End."):
            assert sum(shown in line for line in lines(pilot)) == 1, shown


async def test_the_numbers_of_an_answer_stay_below_it(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await ask(pilot, backend)
        backend.step("a", emitted=3)
        backend.step("b", emitted=3)
        backend.finish("ab")
        await wait_for_end(pilot)
        assert (
            note(answers(pilot)[0]) == "6 tokens · 40.0 tokens/s · 2.40× plain · 3.00 tokens/step"
        )


async def test_odd_text_is_shown_and_kept(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        for name, text in ODD_TEXTS.items():
            await ask(pilot, backend, text)
            for character in text:
                backend.step(character, emitted=1)
            backend.finish(text)
            await wait_for_end(pilot)
            assert backend.asked[-1] == text, name
            assert answers(pilot)[-1].said.text == text, name
            assert questions(pilot)[-1].said.text == text, name
            odd = {c for c in "".join(lines(pilot)) if ord(c) < 32 or 127 <= ord(c) < 160}
            assert not odd, name


async def test_a_question_is_shown_literally(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await ask(pilot, backend, "[bold]x[/bold] **y** [/x]")
        await wait_until(pilot, lambda: shows(pilot, "[bold]x[/bold] **y** [/x]"))


async def test_line_breaks_of_other_kinds_do_not_repeat_text(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    text = "alpha\u2028beta\x0cgamma\n\ndelta"
    async with open_chat() as pilot:
        await ask(pilot, backend)
        for character in text:
            backend.step(character, emitted=1)
            await pilot.pause(0)
        backend.finish(text)
        await wait_for_end(pilot)
        drawn = " ".join(lines(pilot))
        for word in ("alpha", "beta", "gamma", "delta"):
            assert drawn.count(word) == 1


async def test_html_is_not_lost(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await ask_and_answer(pilot, backend, "hi", "<div>kept</div>\n\nand <b>this</b>")
        assert shows(pilot, "<div>kept</div>")
        assert shows(pilot, "and <b>this</b>")


async def test_escape_stops_and_the_partial_answer_stays(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await ask(pilot, backend)
        backend.step("Partial answer")
        await wait_until(pilot, lambda: shows(pilot, "Partial answer"))
        await pilot.press("escape", "escape")
        assert backend.cancelled == 1
        assert shows(pilot, "stopping")
        backend.finish("Partial answer", StoppedBy.CANCELLED)
        await wait_until(pilot, lambda: note(answers(pilot)[0]).startswith("■ stopped"))
        assert shows(pilot, "Partial answer")
        await ask(pilot, backend, "and now")
        assert len(answers(pilot)) == 2


async def test_escape_without_an_answer_does_nothing(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await pilot.press("a", "escape")
        assert backend.cancelled == 0
        assert prompt(pilot).text == "a"


async def test_a_question_during_an_answer_stays_in_the_prompt(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await ask(pilot, backend, "first")
        await pilot.press(*"next", "enter")
        await wait_until(pilot, lambda: shows(pilot, "is on its way"))
        assert backend.asked == ["first"]
        assert prompt(pilot).text == "next"


async def test_failure_keeps_what_was_written(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await ask(pilot, backend)
        backend.step("Some text")
        backend.put(AnswerFailed("The memory is full [/x].", "Some text"))
        await wait_for_end(pilot)
        assert note(answers(pilot)[0]) == "✖ The memory is full [/x]."
        assert shows(pilot, "Some text")
        await ask(pilot, backend, "again")


async def test_the_end_is_named(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        for stopped_by, words in (
            (StoppedBy.LENGTH, "▲ cut at the token limit"),
            (StoppedBy.CONTEXT, "▲ cut, the context is full"),
            (StoppedBy.END, "2 tokens"),
        ):
            await ask(pilot, backend)
            backend.step("text", emitted=2)
            backend.finish("text", stopped_by)
            await wait_for_end(pilot)
            assert note(answers(pilot)[-1]).startswith(words)


async def test_an_empty_answer_says_so(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await ask(pilot, backend)
        backend.finish("")
        await wait_until(pilot, lambda: shows(pilot, "nothing was written"))


async def test_a_long_open_fence_is_complete(open_chat: OpenChat, backend: FakeBackend) -> None:
    code = "".join(f"value_{number} = {number}\n" for number in range(150))
    text = f"Look:\n\n```python\n{code}```\n\nDone."
    async with open_chat() as pilot:
        await ask(pilot, backend)
        for start in range(0, len(text) - 20, 100):
            backend.step(text[start : min(start + 100, len(text) - 20)])
            await wait_until(pilot, lambda: backend.idle)
        await wait_until(pilot, lambda: shows(pilot, "value_148 = 148"))
        assert not any("```" in line for line in lines(pilot))
        backend.step(text[-20:])
        backend.finish(text)
        await wait_for_end(pilot)
        assert shows(pilot, "value_149 = 149")
        assert shows(pilot, "Done.")


async def test_no_typed_character_is_lost_while_text_streams(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    typed = "the quick brown fox jumps over the lazy dog " * 3
    async with open_chat(size=(120, 40)) as pilot:
        await ask(pilot, backend)
        for number, character in enumerate(typed):
            backend.step(f"word{number} ", emitted=2)
            key = "space" if character == " " else character
            await type_fast(pilot, [(key, character)])
            if not number % 10:
                await pilot.pause(0)
        await wait_until(pilot, lambda: prompt(pilot).text == typed)
        await wait_until(pilot, lambda: source(answers(pilot)[0]).endswith("word131 "))


async def test_notices_are_shown_literally(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        backend.put(Notice("Index rebuilt [/x]", "warning"), Notice("odd", "no such severity"))
        await wait_until(pilot, lambda: shows(pilot, "Index rebuilt [/x]"))


async def test_long_lines_of_code_are_wrapped(open_chat: OpenChat, backend: FakeBackend) -> None:
    code = "x = " + " + ".join(f"value_{number}" for number in range(20))
    async with open_chat() as pilot:
        await ask_and_answer(pilot, backend, "hi", f"```python\n{code}\n```")
        for name in ("value_0 ", "value_11", "value_19"):
            assert shows(pilot, name), name
