"""Pictures of the screens. After a change that is meant: `pytest --snapshot-update`, and look."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from sssd_chat.conversation.events import ModelLoading
from sssd_chat.tui.app import ChatApp
from tests.tui.fake_backend import FakeBackend, wait_until
from tests.tui.screen import (
    ask_and_answer,
    prompt,
    shows,
    wait_for_end,
)

ANSWER = """A **trie** over the conversation finds what was said before.

1. The drafter proposes a *tree* of tokens.
2. The model checks all of them in `one pass`.

```python
def accept(tree, model):
    return model.sample(tree)  # its own choice
```

| source | accepted |
|---|---|
| conversation | 61 |

The text is the same: only the waiting is shorter.
"""

SIZES = {"80x24": (80, 24), "200x60": (200, 60)}
THEMES = ("sssd-dark", "sssd-light", "no colour")

Compare = Callable[..., bool]


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES.keys())
@pytest.mark.parametrize("theme", THEMES)
def test_chat(
    snap_compare: Compare, monkeypatch: pytest.MonkeyPatch, theme: str, size: tuple[int, int]
) -> None:
    if theme == "no colour":
        monkeypatch.setenv("NO_COLOR", "1")
    backend = FakeBackend()
    app = ChatApp(backend)

    async def chat(pilot: Pilot[None]) -> None:
        if theme in app.available_themes:
            app.theme = theme
        await wait_until(pilot, lambda: backend.started and backend.idle)
        prompt(pilot).cursor_blink = False
        await ask_and_answer(pilot, backend, "How does a step work? [/x]", ANSWER)
        await wait_for_end(pilot)
        await wait_until(pilot, lambda: shows(pilot, "48.0") or shows(pilot, "tokens/s"))
        await pilot.pause(0.3)

    assert snap_compare(app, terminal_size=size, run_before=chat)


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES.keys())
def test_loading(snap_compare: Compare, size: tuple[int, int]) -> None:
    backend = FakeBackend(None)

    async def load(pilot: Pilot[None]) -> None:
        await wait_until(pilot, lambda: backend.started)
        prompt(pilot).cursor_blink = False
        backend.put(ModelLoading(0.45))
        await wait_until(pilot, lambda: shows(pilot, "45 %"))
        await pilot.pause(0.3)

    assert snap_compare(ChatApp(backend), terminal_size=size, run_before=load)
