"""Where drafted words came from: the marks, the legend, and the way to the source."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.conversation import source_text
from sssd_chat.conversation.events import Span
from sssd_chat.conversation.source_text import SourceText
from sssd_chat.errors import UserError
from sssd_chat.text import for_display
from sssd_chat.tui.markdown.code_blocks import code_blocks
from sssd_chat.tui.provenance import META, legend, mark, marked, origin, with_new
from sssd_chat.tui.widgets.sourced_text import SourcedText
from tests.tui.conftest import OpenChat
from tests.tui.fake_backend import FakeBackend, opened, shown_turn, wait_until
from tests.tui.screen import answers, ask, prompt, shows, source

TEXT = "# Tries\n\nA **trie** holds prefixes.\n" + "More words. " * 400
SPANS = (
    Span(11, 19, "conversation"),
    Span(20, 25, "chats", "3/9", "Suffix arrays [/x]", 3, 9),
    Span(3000, 3010, "papers", "a.pdf", "Trees.pdf"),
)
SOURCES = ("conversation", "chats", "runner-ups", "starter/en", "papers", "notes\x1b[2J")


@given(
    text=st.text(st.sampled_from("ab\n\x1b\u2028\u202e語"), max_size=60),
    ends=st.lists(st.integers(0, 60), max_size=12),
)
def test_marked_text_is_the_text(text: str, ends: list[int]) -> None:
    borders = sorted({min(end, len(text)) for end in ends})
    pairs = zip(borders[::2], borders[1::2], strict=False)
    spans = [Span(start, end, SOURCES[start % 6]) for start, end in pairs]
    content = marked(text, spans)
    assert content.plain == for_display(text).rstrip()


def test_spans_that_overlap_or_are_out_of_the_text_are_left_out() -> None:
    spans = [Span(2, 5, "chats"), Span(4, 6, "chats"), Span(7, 99, "chats")]
    numbers = [
        span.style.meta[META]
        for span in marked("0123456789", spans).spans
        if not isinstance(span.style, str) and META in span.style.meta
    ]
    assert numbers == [0]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=20), st.data())
def test_spans_of_steps_join_into_those_of_the_answer(
    lengths: list[int], data: st.DataObject
) -> None:
    """However the spans come, a grown one takes the place of its beginning."""
    starts = [sum(lengths[:number]) for number in range(len(lengths))]
    whole = tuple(
        Span(start, start + length, "chats") for start, length in zip(starts, lengths, strict=True)
    )
    spans: tuple[Span, ...] = ()
    for span in whole:
        cut = data.draw(st.integers(span.start + 1, span.end))
        spans = with_new(spans, [Span(span.start, cut, "chats")])
        spans = with_new(spans, [span] if cut < span.end else [])
    assert spans == whole


def test_each_kind_of_source_has_a_colour_and_a_line_of_its_own() -> None:
    marks = [mark(name) for name in SOURCES[:5]]
    assert len({one.colour for one in marks}) == len({one.line for one in marks}) == 5
    assert mark("starter/en") == mark("starter/de")
    names = legend(["papers", "starter/en", "conversation", "starter/de"]).plain.split()
    assert names == ["drafted", "from", "conversation", "papers", "starter"]


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (Span(0, 1, "conversation"), "from this chat"),
        (Span(0, 1, "chats", "1/2", "Tries\x1b"), "from chat “Tries”"),
        (Span(0, 1, "chats"), "from an earlier chat"),
        (Span(0, 1, "papers", "a", "a.pdf, page 7"), "from a.pdf, page 7"),
        (Span(0, 1, "papers"), "from the collection papers"),
        (Span(0, 1, "starter/en", "x", "y"), "from the starter collection en"),
        (Span(0, 1, "papers", "a", "long " * 40), "from " + ("long " * 40)[:47] + "…"),
    ],
)
def test_the_origin_in_words(span: Span, words: str) -> None:
    assert origin(span) == words


def test_code_blocks_of_any_kind_of_fence() -> None:
    text = "```py x\na\n```\n- item\n  ~~~\n  b\n  ~~~\n\n"
    text += "> ```\n> c\n> ```\n\n    indented\n\n```\nopen"
    assert [(code.language, code.text) for code in code_blocks(text)] == [
        ("py", "a\n"),
        ("", "b\n"),
        ("", "c\n"),
        ("", "open"),
    ]


async def test_marks_and_the_way_from_one_to_the_next(
    open_chat: OpenChat, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened_sources = []

    def read(span: Span, piece: str) -> SourceText:
        opened_sources.append((span, piece))
        if span.source == "papers":
            raise UserError("The text is gone [/x].")
        return SourceText("Suffix\x1b arrays", "before " * 5000 + piece + " after", 35000, 35005)

    monkeypatch.setattr(source_text, "open_source", read)
    async with open_chat(size=(80, 30)) as pilot:
        backend.put(opened(shown_turn("user", "q"), shown_turn("assistant", TEXT, spans=SPANS)))
        await wait_until(pilot, lambda: len(answers(pilot)) == 1)
        await pilot.press("f7")
        await wait_until(pilot, lambda: shows(pilot, "drafted from  conversation   chats   papers"))
        await pilot.press("tab")
        await wait_until(pilot, lambda: shows(pilot, "1 of 3  from this chat"))
        await wait_until(pilot, lambda: shows(pilot, "A **trie** holds prefixes."))
        assert prompt(pilot).has_focus
        await pilot.press("o")
        await wait_until(pilot, lambda: shows(pilot, "From this chat;"))
        await pilot.press("tab")
        await wait_until(
            pilot, lambda: shows(pilot, "2 of 3  o opens  from chat “Suffix arrays [/x]”")
        )
        await pilot.press("o")
        await wait_until(pilot, lambda: shows(pilot, "Suffix arrays ─"))
        await wait_until(pilot, lambda: shows(pilot, "holds after"))
        await pilot.press("escape", "tab", "tab")
        await wait_until(pilot, lambda: shows(pilot, "1 of 3"))
        await pilot.press("shift+tab", "o")
        await wait_until(pilot, lambda: shows(pilot, "The text is gone [/x]."))
        assert opened_sources == [(SPANS[1], "holds"), (SPANS[2], TEXT[3000:3010])]
        await pilot.press("escape", "f7")
        await wait_until(pilot, lambda: not pilot.app.screen.query(SourcedText))
        assert source(answers(pilot)[0]) == TEXT
        assert not shows(pilot, "drafted from")


async def test_words_are_marked_while_they_come(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat() as pilot:
        await pilot.press("f7")
        await wait_until(pilot, lambda: shows(pilot, "no drafted words"))
        await ask(pilot, backend)
        backend.stream("# A heading [/x]")
        await wait_until(pilot, lambda: shows(pilot, "# A heading [/x]"))
        backend.finish("# A heading [/x]", spans=(Span(2, 3, "notes"),))
        await wait_until(pilot, lambda: shows(pilot, "drafted from  notes"))
        await pilot.press("f7")
        await wait_until(pilot, lambda: not shows(pilot, "# A heading [/x]"))
        assert shows(pilot, "A heading [/x]")
