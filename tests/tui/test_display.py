"""Whatever a model, a file or a person wrote: nothing but text reaches the terminal, and no line is
longer than its place."""

from __future__ import annotations

import asyncio
import unicodedata

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.pilot import Pilot

from sssd_chat.conversation.events import (
    AnswerFailed,
    AnswerStatistics,
    Attached,
    AttachmentsChanged,
    Notice,
    ShownTurn,
    Span,
)
from sssd_chat.generation.statistics import Count
from sssd_chat.tui.app import ChatApp
from sssd_chat.tui.widgets.turn import Turn
from tests.tui.fake_backend import FakeBackend, opened, shown_turn, wait_until
from tests.tui.screen import answers, ask

WIDTH, HEIGHT = 72, 240
CONTROLS = "\x00\x07\x08\x1b\x7f\x85\x9b\x9d\r\v\f\u2028\u2029"
BIDI = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
PIECES = (
    *CONTROLS,
    *BIDI,
    *"\u200b\u200c\u200d\u00ad\ufeff\u0301\u20dd\ufe0f",
    *"日本語テキスト한국어",
    "👩‍👩‍👧‍👦",
    "🇨🇭",
    "👍🏽",
    "שלום עליכם",
    "مرحبا",
    "นี่คือ",
    "हिन्दी",
    "[/x]",
    "[bold]",
    "[@click=app.quit]",
    "\x1b[2J",
    "\x1b]0;title\x07",
    "**",
    "`",
    "|",
    "# ",
    "- ",
    "$x",
    " ",
    "\n",
    "\t",
    "\ud83d",
    "word",
    "a" * 90,
)
NASTY = st.lists(st.sampled_from(PIECES), min_size=1, max_size=12).map("".join)


def check(pilot: Pilot[None], where: str) -> None:
    """Looks at every cell that is drawn."""
    for strip in pilot.app.screen._compositor.render_strips():
        text = strip.text
        kinds = {unicodedata.category(character) for character in text}
        assert not kinds & {"Cc", "Cs", "Zl", "Zp"}, (where, text)
        assert not set(text) & set(BIDI[2:]), (where, text)
        assert strip.cell_length == WIDTH, (where, strip.cell_length, text)
        assert cell_len(text) == WIDTH, (where, text)
        assert not any(segment.control for segment in strip)
    for turn in pilot.app.screen.query(Turn):
        for widget in turn.query("*"):
            assert not widget.region or widget.region.right <= turn.region.right, (where, widget)


def answer(texts: list[str]) -> str:
    """A Markdown answer with something nasty in every kind of block."""
    quoted = [text.replace("\n", " ") for text in texts]
    return (
        f"# {quoted[0]}\n\n{texts[1]}\n\n- {quoted[2]}\n  1. {quoted[3]}\n\n"
        f"```{quoted[4]}\n{texts[5]}\n```\n\n"
        f"| a | {quoted[6]} |\n|---|---|\n| {quoted[7]} | b |\n\n"
        f"> {quoted[8]}\n\n[{quoted[9]}](x)\n"
    )


def turns(texts: list[str]) -> list[ShownTurn]:
    written = answer(texts)
    middle = len(written) // 2
    spans = tuple(
        Span(start, start + 7, source, "key", texts[10])
        for start, source in ((3, "chats"), (middle, texts[11]), (middle + 9, "runner-ups"))
    )
    statistics = AnswerStatistics(
        emitted=9, steps=3, decode_seconds=1.0, by_source={texts[11]: Count(3, 2, 1)}
    )
    return [
        shown_turn("user", texts[0], position=1, siblings=12),
        shown_turn("assistant", written, False, texts[10], texts[1], statistics=statistics),
        shown_turn("user", texts[2] * 40),
        shown_turn("assistant", written, model="m", spans=spans),
    ]


async def show(texts: list[str]) -> None:
    backend = FakeBackend()
    app = ChatApp(backend)
    async with app.run_test(size=(WIDTH, HEIGHT), notifications=True) as pilot:
        await wait_until(pilot, lambda: backend.started and backend.idle)
        backend.put(opened(*turns(texts), title=texts[3]))
        await wait_until(pilot, lambda: len(answers(pilot)) == 2)
        await pilot.pause()
        check(pilot, "a chat that is opened")
        await pilot.press("ctrl+r", "f7", "alt+up", "tab", "tab")
        await pilot.pause()
        check(pilot, "unfolded, with marked words")
        await pilot.press("escape", "f7", "f6")
        await pilot.pause()
        check(pilot, "statistics")
        await pilot.press("escape")
        await ask(pilot, backend, texts[4] + "x")
        for text in texts:
            backend.think(text)
            backend.step(text)
        backend.put(Notice(texts[5], "warning"))
        backend.put(AttachmentsChanged((Attached(texts[6], 3, 9),)))
        await wait_until(pilot, lambda: backend.idle)
        await pilot.pause(0.2)
        check(pilot, "while it is written")
        backend.put(AnswerFailed(texts[7], "".join(texts), texts[8]))
        await wait_until(pilot, lambda: answers(pilot)[-1].said.note)
        await pilot.pause()
        check(pilot, "at the end")


@settings(
    max_examples=2,
    deadline=None,
    derandomize=True,
    # Each run is a whole app: to make a failing text shorter would take minutes.
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(texts=st.lists(NASTY, min_size=12, max_size=12))
def test_only_text_reaches_the_terminal(texts: list[str]) -> None:
    asyncio.run(show(texts))
