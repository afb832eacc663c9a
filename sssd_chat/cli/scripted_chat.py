"""The chat with an engine that plays a text instead of asking a model; `bench screen` runs it.

python -m sssd_chat.cli.scripted_chat --turns 4 --tokens 2000 --rate 300
"""

from __future__ import annotations

import argparse
import itertools
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import cast

from sssd_chat.conversation.events import (
    AnswerDone,
    AnswerStatistics,
    AnswerStep,
    ChatBackend,
    ChatOpened,
    Drafting,
    Event,
    ModelInfo,
    ModelReady,
    PromptRead,
    ShownTurn,
    StepStatistics,
    StoppedBy,
)

READY = "Scripted"
"""The name of the model, on the screen as soon as questions can be asked."""
END = "So ends it."
"""The last words of the text."""

_TOKENS_A_STEP = 3
_PIECE = 4
"""Characters of a token."""
_MODEL = ModelInfo(READY, "", "a text", 131_072, 1, False, Drafting.ON)
_PASSAGE = """## Part {number}

A **draft** is a tree of tokens that may come next, and the model looks at all of them in one
pass. What it would have written anyway is kept, and `everything` else is dropped.

1. Look up what followed the same words before.
2. Let the model check it, in *one* batch.

```python
def accept(tree, model, root=None):
    return [node for node in tree if model.choice(node) == node.token]
```

| source | accepted |
|---|---|
| conversation | {number} |

"""


def passages(characters: int) -> str:
    """A Markdown text of about so many characters."""
    text = ""
    for number in itertools.count(1):
        if len(text) >= characters:
            break
        text += _PASSAGE.format(number=number)
    return text + END


class ScriptedChat:
    """Answers every question with the same text, so many tokens a second, from a thread."""

    def __init__(self, turns: int, tokens: int, rate: float) -> None:
        self._turns = turns
        self._text = passages(tokens * _PIECE)
        self._rate = rate
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._closing = threading.Event()

    def start(self) -> None:
        """Shows the earlier turns; there is no model to load."""
        self._events.put(ChatOpened(1, turns=tuple(self._earlier())))
        self._events.put(ModelReady(_MODEL))

    def _earlier(self) -> Iterator[ShownTurn]:
        for number in range(self._turns):
            passage = _PASSAGE.format(number=number)
            yield ShownTurn(2 * number + 1, "user", f"Question {number}")
            yield ShownTurn(2 * number + 2, "assistant", passage, model=READY)

    def send(self, text: str) -> None:
        """Begins to play the text."""
        threading.Thread(target=self._play, daemon=True).start()

    def _play(self) -> None:
        self._events.put(PromptRead(20, 20, 0))
        answer = AnswerStatistics(prompt_tokens=20)
        piece = _PIECE * _TOKENS_A_STEP
        began = time.perf_counter()
        for start in range(0, len(self._text), piece):
            due = began + start / _PIECE / self._rate
            if self._closing.wait(max(0.0, due - time.perf_counter())):
                return
            step = StepStatistics(_TOKENS_A_STEP, 5, 3, 2, decode_seconds=0.01, plain_seconds=0.02)
            answer.add(step)
            self._events.put(AnswerStep(self._text[start : start + piece], step, answer.copy()))
        self._events.put(AnswerDone(self._text, StoppedBy.END, answer, turn=2 * self._turns + 2))

    def events(self) -> list[Event]:
        """What came since the last call."""
        return [self._events.get() for _ in range(self._events.qsize())]

    def close(self) -> None:
        """Stops playing."""
        self._closing.set()

    def __getattr__(self, command: str) -> Callable[..., None]:
        """Whatever else the screen asks for changes nothing."""
        return _ignored


def _ignored(*_: object) -> None:
    pass


def main() -> int:
    """Runs the chat in this terminal."""
    from sssd_chat.tui.app import run_chat

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, required=True, help="question and answer each")
    parser.add_argument("--tokens", type=int, required=True)
    parser.add_argument("--rate", type=float, required=True, help="tokens a second")
    options = parser.parse_args()
    backend = ScriptedChat(options.turns, options.tokens, options.rate)
    return run_chat(cast(ChatBackend, backend))


if __name__ == "__main__":
    sys.exit(main())
