"""Text for the display, figures, and the state behind the panel; no screen needed."""

from __future__ import annotations

import pytest

from sssd_chat.conversation.events import (
    AnswerStatistics,
    AnswerStep,
    Drafting,
    ModelReady,
    StepStatistics,
)
from sssd_chat.text import for_display
from sssd_chat.tui import figures
from sssd_chat.tui.chat_state import ChatState
from sssd_chat.tui.markdown.fence import FenceScanner
from tests.tui.fake_backend import MODEL


def test_only_newlines_and_tabs_are_left_of_the_control_characters() -> None:
    everything = "".join(map(chr, range(0x3000)))
    left = for_display(everything)
    assert {c for c in left if ord(c) < 32 or 127 <= ord(c) < 160} == {"\n", "\t"}
    assert not set(left) & set("\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    assert for_display("é日本👩‍👩‍👧‍👦") == "é日本👩‍👩‍👧‍👦"
    left.encode()


def test_cleaning_pieces_is_cleaning_the_whole() -> None:
    text = "a\r\nb\x1b[1mc\u2028d"
    assert "".join(map(for_display, text)) == for_display(text)


@pytest.mark.parametrize(
    ("text", "is_open"),
    [
        ("```python\n", True),
        ("```python\nx\n```\n", False),
        ("```python\nx\n````\n", False),
        ("````\n```\n", True),
        ("~~~\n```\n", True),
        ("~~~\n~~~\n", False),
        ("- item\n  ```sh\n  ls\n", True),
        ("- item\n  ```sh\n  ls\n  ```\n", False),
        ("``` not `a` fence\n", False),
        ("``\n", False),
        ("```", False),
    ],
)
def test_fences(text: str, is_open: bool) -> None:
    whole, pieces = FenceScanner(), FenceScanner()
    whole.feed(text)
    for character in text:
        pieces.feed(character)
    assert whole.is_open == pieces.is_open == is_open
    assert whole.open_length == pieces.open_length


def test_unknown_is_a_dash() -> None:
    unknown = [
        figures.decimal(None),
        figures.percent(None),
        figures.times(None),
        figures.count(None),
    ]
    assert unknown == ["–"] * 4


@pytest.mark.parametrize("share", [-1.0, 0.0, 0.001, 0.5, 1.0, 7.0])
def test_bars_keep_their_width(share: float) -> None:
    full, empty = figures.bar(share, 20)
    assert len(full + empty) == 20
    assert bool(full) == (share > 0)


def step(state: ChatState, drafting: Drafting, draft_size: int) -> None:
    statistics = StepStatistics(emitted=1, drafting=drafting, draft_size=draft_size)
    state.apply(AnswerStep("", statistics, AnswerStatistics()))


def test_drafts_are_off_by_cost_only_after_several_steps() -> None:
    state = ChatState()
    state.apply(ModelReady(MODEL))
    state.asked()
    step(state, Drafting.ON, 6)
    step(state, Drafting.OFF_BY_COST, 0)
    assert (state.drafting, state.draft_size) == (Drafting.ON, 3)
    for _ in range(8):
        step(state, Drafting.OFF_BY_COST, 0)
    assert (state.drafting, state.draft_size) == (Drafting.OFF_BY_COST, 0)
    step(state, Drafting.ON, 4)
    assert (state.drafting, state.draft_size) == (Drafting.ON, 0.5)
