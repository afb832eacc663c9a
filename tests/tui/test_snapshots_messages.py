"""Pictures of messages: selected, marked by their sources, and the screens about them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from sssd_chat.conversation.events import AnswerParameters, AnswerStatistics, ShownTurn, Span
from sssd_chat.generation.statistics import Count
from sssd_chat.tui.app import ChatApp
from tests.tui.fake_backend import MODEL, FakeBackend, opened, shown_turn, wait_until
from tests.tui.screen import answers, prompt

TEXT = """A **trie** over the conversation finds what was said before.

1. The drafter proposes a *tree* of tokens.
2. The model checks all of them in `one pass`.

```python
def accept(tree, model):
    return model.sample(tree)  # its own choice
```

日本語のテキスト, and the text is the same: only the waiting is shorter.
"""
STATISTICS = AnswerStatistics(
    prompt_tokens=260,
    reused_tokens=200,
    emitted=88,
    steps=29,
    drafted=174,
    tested=88,
    accepted=59,
    by_source={
        "conversation": Count(90, 45, 38),
        "chats": Count(40, 20, 15),
        "papers": Count(14, 8, 3),
        "runner-ups": Count(30, 15, 3),
    },
    by_depth={1: Count(60, 60, 41), 2: Count(50, 20, 13), 3: Count(40, 8, 5), 4: Count(24)},
    prefill_seconds=0.31,
    draft_seconds=0.03,
    decode_seconds=1.71,
    sampling_seconds=0.06,
    other_seconds=0.01,
    plain_seconds=4.4,
)
PARAMETERS = AnswerParameters(0.7, 0.95, 40, 0.05, 1.0, None, 7)
LOOKS = {"dark-80x24": ("sssd-dark", (80, 24)), "light-200x60": ("sssd-light", (200, 60))}
KEYS = {
    "selected": ("alt+up", "up", "up"),
    "sources": ("f7", "alt+up", "up", "up", "tab", "tab"),
    "statistics": ("alt+up", "up", "up", "s"),
    "parameters": ("alt+up", "up", "up", "R"),
    "editing": ("alt+up", "up", "e"),
}

Compare = Callable[..., bool]


def span(words: str, source: str, document: str = "", title: str = "") -> Span:
    start = TEXT.index(words)
    return Span(start, start + len(words), source, document, title)


def turns() -> list[ShownTurn]:
    spans = (
        span("over the conversation", "conversation"),
        span("was said before", "chats", "3/9", "Suffix arrays"),
        span("proposes a *tree* of tokens", "papers", "a.pdf", "Drafting with trees.pdf"),
        span("The model checks", "runner-ups"),
        span("in `one pass`", "starter/en", "x"),
        span("return model.sample(tree)", "chats", "4/10", "An afternoon of drafts"),
    )
    answer = shown_turn("assistant", TEXT, model=MODEL.name, siblings=3, spans=spans)
    return [
        shown_turn("user", "How does a step work? [/x]", position=1, siblings=2),
        dataclasses.replace(answer, parameters=PARAMETERS, statistics=STATISTICS),
        shown_turn("user", "And a suffix array?"),
        shown_turn("assistant", "A sorted list of all suffixes.", model=MODEL.name),
    ]


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS.keys())
@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS.keys())
def test_messages(
    snap_compare: Compare, keys: tuple[str, ...], look: tuple[str, tuple[int, int]]
) -> None:
    theme, size = look
    backend = FakeBackend()
    app = ChatApp(backend)

    async def show(pilot: Pilot[None]) -> None:
        app.theme = theme
        await wait_until(pilot, lambda: backend.started and backend.idle)
        prompt(pilot).cursor_blink = False
        backend.put(opened(*turns()))
        await wait_until(pilot, lambda: len(answers(pilot)) == 2)
        await pilot.pause()
        for key in keys:
            await pilot.press(key)
        await pilot.pause(0.3)
        for field in app.screen.query(Input):
            field.cursor_blink = False
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=show)
