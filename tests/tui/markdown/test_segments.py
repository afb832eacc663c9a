"""Parts of a Markdown text that can be drawn one without the other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sssd_chat.tui.markdown.segments import LEAST_CHARACTERS, first_end, segments

BLOCKS = (
    "# Heading\n\n",
    "A paragraph of words. " * 9 + "\n\n",
    "- a list\n\n  with a paragraph\n- and more\n\n",
    "1. one\n2. two\n\n",
    "```python\nx = 1\n\nAt the margin\n```\n\n",
    "~~~\n\nNot closed yet ```\n\n~~~\n\n",
    "> quoted\nlazily\n\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
    "    indented code\n\n",
    "日本語の段落。\n\n",
    "***\n\n",
    "Setext\n------\n\n",
    "\n\n",
    "* item\n\n\n",
)
TEXTS = st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=60).map("".join)


@given(TEXTS)
def test_the_parts_are_drawn_like_the_whole(text: str) -> None:
    parser = MarkdownIt("gfm-like")
    parts = segments(text)
    assert "".join(parts) == text
    assert all(len(part) >= LEAST_CHARACTERS for part in parts[:-1])
    assert "".join(map(parser.render, parts)) == parser.render(text)


@given(TEXTS, st.lists(st.integers(1, 700), min_size=1, max_size=8))
def test_a_growing_text_has_the_parts_of_the_whole(text: str, lengths: list[int]) -> None:
    parts, last, position = [], "", 0
    while position < len(text):
        for length in lengths:
            last += text[position : position + length]
            position += length
            while end := first_end(last):
                parts.append(last[:end])
                last = last[end:]
    assert [*parts, last] == segments(text)


def test_a_text_that_defines_links_by_name_is_one_part() -> None:
    text = "".join(BLOCKS[:2]) * 20
    assert len(segments(text)) > 1
    assert segments(text + "See [it][x].\n\n[x]: https://example.org\n") == [
        text + "See [it][x].\n\n[x]: https://example.org\n"
    ]
