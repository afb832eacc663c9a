"""The text of an answer on the screen: links, marking with the mouse, colours."""

from __future__ import annotations

from textual.geometry import Offset
from textual.pilot import Pilot
from textual.selection import SELECT_ALL, Selection

from sssd_chat.tui.widgets.answer_text import AnswerText
from tests.tui.conftest import OpenChat
from tests.tui.fake_backend import FakeBackend, wait_until
from tests.tui.screen import ask_and_answer, lines, shows, told

LONG = "word " * 40 + "end"
MIXED = f"# Title\n\n{LONG}\n\n- one item\n- another\n\n> a quote {LONG}\n\n```\nx = 1\n```"


def text_of(pilot: Pilot[None]) -> AnswerText:
    return pilot.app.screen.query_one(AnswerText)


async def click_on(pilot: Pilot[None], words: str) -> None:
    y = next(number for number, line in enumerate(lines(pilot)) if words in line)
    await pilot.click(offset=(lines(pilot)[y].index(words) + 1, y))
    await pilot.pause()


async def test_a_web_link_opens_and_others_do_not(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        opened: list[str] = []
        pilot.app.open_url = lambda url, **_: opened.append(url)  # type: ignore[method-assign]
        answer = "See [the page](https://example.org/a) or [that one](notes.md)."
        await ask_and_answer(pilot, backend, "hi", answer)
        await click_on(pilot, "the page")
        assert opened == ["https://example.org/a"]
        await click_on(pilot, "that one")
        assert opened == ["https://example.org/a"]
        assert told(pilot, "Only web links open")
        await click_on(pilot, "or that")
        assert opened == ["https://example.org/a"]


async def test_marked_text_has_no_line_breaks_of_the_screen(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat(size=(60, 60)) as pilot:
        await ask_and_answer(pilot, backend, "hi", MIXED)
        marked, _ = text_of(pilot).get_selection(SELECT_ALL)
        assert marked == (f"Title\n\n{LONG}\n\n• one item\n• another\n\n▌ a quote {LONG}\n\n x = 1")
        part, _ = text_of(pilot).get_selection(Selection(Offset(2, 0), Offset(4, 2)))
        assert part == "tle\n\nword"


async def test_the_mouse_marks_words(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await ask_and_answer(pilot, backend, "hi", "The quick brown fox.")
        text = text_of(pilot)
        await pilot.mouse_down(text, offset=(4, 0))
        await pilot.hover(text, offset=(8, 0))
        await pilot.hover(text, offset=(9, 0))
        await pilot.mouse_up(text, offset=(9, 0))
        await wait_until(pilot, lambda: pilot.app.screen.get_selected_text() == "quick")
        style = next(s.style for s in text.render_line(0) if "quick" in s.text)
        assert style.bgcolor != text.rich_style.bgcolor


async def test_other_colours_reach_lines_that_were_drawn(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat() as pilot:
        await ask_and_answer(pilot, backend, "hi", "# Title\n\n`code`")
        before = [list(text_of(pilot).render_line(line)) for line in range(3)]
        pilot.app.theme = "sssd-light"
        await pilot.pause()
        after = [list(text_of(pilot).render_line(line)) for line in range(3)]
        assert [[s.text for s in line] for line in before] == [
            [s.text for s in line] for line in after
        ]
        assert before[0][0].style != after[0][0].style
        assert before[2][0].style != after[2][0].style


async def test_tables_and_code_in_a_narrow_terminal(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat(size=(30, 24)) as pilot:
        table = "| a | b | c | d | e | f | g |\n|---|---|---|---|---|---|---|\n"
        await ask_and_answer(pilot, backend, "hi", table + "| 1 | 2 | 3 | 4 | 5 | 6 | 7 |\n")
        assert shows(pilot, "g: 7")
