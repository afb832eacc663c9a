"""Markdown as lines of the screen, while it grows and as a whole."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from sssd_chat.tui.markdown.document import Document

PIECES = (
    "# Heading\n\n",
    "A paragraph of words that is longer than a line of the screen. " * 3 + "\n\n",
    "- a list\n\n  with a paragraph\n- and more\n  - of it\n\n",
    "9. one\n10. two\n\n",
    "```python\nx = 1\n\tif x:\n```\n\n",
    "~~~\nnever closed\n\n",
    "```\n" + "a line of code\n" * 90 + "```\n\n",
    "> quoted\n>\n> - in a list\n>\n> > deeper\n\n",
    "| a | b |\n|--:|:-:|\n| 1 | two words |\n| 日本 | `c` |\n\n",
    "| " + " | ".join(["many", "columns", "of", "words"] * 6) + " |\n" + "|---" * 24 + "|\n",
    "    indented code\n\n",
    "日本語の段落。" * 20 + "\n\n",
    "***\n\n",
    "Setext\n------\n\n",
    "**bold *and* `code`** [link](https://example.org) ![picture](x.png) ~~no~~\n\n",
    "a" * 200 + "\n\n",
    "> " * 30 + "deep\n\n",
    "- " * 30 + "deep\n\n",
    "<b>html</b> [x][nowhere] \\* &amp; \x1b[31m\x00\n\n",
    "👩‍👩‍👧‍👦 e\u0301\u0301 \u202eabc\n\n",
    "\n",
    "-",
    "|",
    "`",
)
TEXTS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join)
WIDTHS = st.integers(1, 120)


def plain(document: Document, width: int) -> list[str]:
    return [line.content.plain for line in document.lines(width)]


def looks(document: Document, width: int) -> list[tuple[str, object]]:
    return [(line.content.plain, line.content.spans) for line in document.lines(width)]


def whole(text: str) -> Document:
    document = Document()
    document.update(text)
    return document


def drawn(text: str, width: int = 40) -> list[str]:
    return [line.rstrip() for line in plain(whole(text), width)]


@settings(max_examples=40)
@given(TEXTS, st.lists(st.integers(10, 300), min_size=1, max_size=6), WIDTHS)
def test_a_text_that_grew_looks_like_the_whole(text: str, steps: list[int], width: int) -> None:
    document = Document()
    position = 0
    while position < len(text):
        for step in steps:
            document.append(text[position : position + step])
            position += step
            document.lines(width)
    assert document.source == text
    expected = looks(whole(text), width)
    assert looks(document, width) == expected
    document.update(text)
    assert looks(document, width) == expected


@settings(max_examples=40)
@given(TEXTS, TEXTS, WIDTHS, WIDTHS)
def test_another_text_or_width_leaves_nothing_of_the_first(
    first: str, second: str, width: int, other: int
) -> None:
    document = whole(first)
    document.lines(width)
    document.update(second)
    assert looks(document, width) == looks(whole(second), width)
    assert looks(document, other) == looks(whole(second), other)


@settings(max_examples=40)
@given(TEXTS, WIDTHS)
def test_no_line_is_wider_than_the_screen(text: str, width: int) -> None:
    for line in plain(whole(text), width):
        # A character of two cells does not fit in one.
        assert cell_len(line) <= max(2, width), line


@settings(max_examples=40)
@given(TEXTS, WIDTHS)
def test_every_line_of_a_block_is_found_again(text: str, width: int) -> None:
    document = whole(text)
    found = [document.stretch_at(line, width) for line in range(len(document.lines(width)))]
    for number, stretch in enumerate(found):
        assert stretch is not None
        assert stretch.first <= number < stretch.first + stretch.lines
        assert document.stretch(stretch.number, width) == stretch
    assert document.stretch(len(found), width) is None


@given(st.lists(st.text("abcdefg", min_size=1, max_size=30), min_size=1, max_size=40), WIDTHS)
def test_wrapping_loses_no_letter(words: list[str], width: int) -> None:
    lines = whole(" ".join(words)).lines(width)
    assert "".join(line.content.plain + line.joint for line in lines).split() == words


def test_lists_and_quotes_have_their_signs_and_empty_lines() -> None:
    text = "Look:\n\n- one\n  two\n  - three\n\n    four\n- five\n\n"
    text += "9. nine\n10. ten\n\n> quote\n>\n> > deep"
    assert drawn(text) == [
        "Look:",
        "",
        "• one two",
        "  ◦ three",
        "",
        "    four",
        "• five",
        "",
        " 9. nine",
        "10. ten",
        "",
        "▌ quote",
        "▌",
        "▌ ▌ deep",
    ]


def test_a_table_of_which_only_the_head_came_is_shown() -> None:
    assert drawn("| one | two |\n|---|---|\n", 7) == ["one,", "two"]


def test_what_is_in_a_list_stands_behind_its_sign() -> None:
    text = "- " + "word " * 12 + "\n\n  ```\n  code\n  ```\n- next"
    assert drawn(text, 30) == [
        "• word word word word word",
        "  word word word word word",
        "  word word",
        "",
        "   code",
        "",
        "• next",
    ]


def test_a_table_is_aligned_and_narrowed_to_fit() -> None:
    table = "| name | size |\n|---|--:|\n| a | 1 |\n| a long name here | 22 |\n"
    assert drawn(table) == [
        "name             │ size",
        "─────────────────┼─────",
        "a                │    1",
        "a long name here │   22",
    ]
    assert drawn(table, 18) == [
        "name        │ size",
        "────────────┼─────",
        "a           │    1",
        "────────────┼─────",
        "a long name │   22",
        "here        │",
    ]
    assert drawn(table, 9) == [
        "name: a",
        "size: 1",
        "",
        "name: a",
        "long name",
        "here",
        "size: 22",
    ]


def test_code_that_grows_keeps_its_lines() -> None:
    code = [f"value_{number} = {number}" for number in range(150)]
    text = "```python\n" + "\n".join(code)
    assert [line.strip() for line in drawn(text)] == code
    assert [line.strip() for line in drawn(text + "\n```")] == code
