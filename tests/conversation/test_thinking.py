"""Thinking is told apart from the answer, however the text is cut into pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.conversation.thinking import (
    Parts,
    ThinkingSplitter,
    opened_thinking,
    split_thinking,
)
from sssd_chat.generation.tokenizer import THINKING_MARKS

MARKS = [mark for pair in THINKING_MARKS for mark in pair]
TEXTS = st.lists(st.sampled_from([*MARKS, "<thi", "nk>", "</", " ", "\n", "word", "<"])).map(
    "".join
)


@given(TEXTS, st.sampled_from(["", "<think>", "[THINK]"]), st.randoms())
def test_pieces_of_any_size_give_the_same_parts(text: str, opened: str, random: object) -> None:
    splitter = ThinkingSplitter(opened)
    parts = Parts()
    place = 0
    while place < len(text):
        size = random.randint(1, 5)  # type: ignore[attr-defined]
        parts += splitter.feed(text[place : place + size])
        place += size
    assert parts + splitter.finish() == split_thinking(text, opened)


@given(TEXTS)
def test_nothing_but_marks_and_space_is_lost(text: str) -> None:
    parts = split_thinking(text)
    assert text.endswith(parts.text)
    head = text[: len(text) - len(parts.text)]
    # From the right: in what stands before it, only the mark could look like it.
    before, _, after = head.rpartition(parts.thinking) if parts.thinking else ("", "", head)
    left = "".join((before + after).split())
    assert left in ("", *MARKS, *(begin + end for begin, end in THINKING_MARKS))


@pytest.mark.parametrize(("begin", "end"), THINKING_MARKS)
def test_a_block_in_front_is_thinking(begin: str, end: str) -> None:
    assert split_thinking(f"{begin}\nlet me see\n{end}\n\nYes.") == Parts("let me see", "Yes.")
    assert split_thinking(f"let me see{end}Yes.", opened=begin) == Parts("let me see", "Yes.")
    assert split_thinking(f"{begin}see{end}Yes.", opened=begin) == Parts("see", "Yes.")


def test_a_block_that_is_not_closed_is_all_thinking() -> None:
    assert split_thinking("<think>on and on </thi") == Parts("on and on </thi", "")
    assert split_thinking("on and on", opened="<think>") == Parts("on and on", "")


def test_an_empty_block_is_no_thinking() -> None:
    assert split_thinking("<think>\n\n</think>\n\nYes.") == Parts("", "Yes.")


def test_marks_inside_an_answer_belong_to_it() -> None:
    for text in ("Write <think> first.", " A <think>b</think>", "No </think> here", "  plain"):
        assert split_thinking(text) == Parts("", text)


def test_a_prompt_says_whether_it_leaves_a_block_open() -> None:
    assert opened_thinking("<|im_start|>assistant\n<think>\n") == "<think>"
    assert opened_thinking("<|im_start|>assistant\n<think>\n\n</think>\n\n") == ""
    assert opened_thinking("<|im_start|>assistant\n") == ""
