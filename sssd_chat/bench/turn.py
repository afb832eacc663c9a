"""Time to the first token of a turn: in a long chat against an empty one."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

EMPTY = "empty chat"
LONG = "long chat"
EMPTY_READ = "empty chat, read ahead"
LONG_READ = "long chat, read ahead"
MODES = (EMPTY, LONG, EMPTY_READ, LONG_READ)
"""Read ahead: the message was read while it was typed; timed is what is left when it is sent."""

_SENTENCE = "On day {} the keeper wrote {} names of ships into the book and drew a bird for each."


class Chat(Protocol):
    """What is timed; `sssd_chat.conversation.session.ChatSession` is the real one."""

    def prompt(self, question: str) -> list[int]:
        """The tokens of the next prompt."""

    def begin(self, question: str) -> Any:
        """Reads a question."""

    def steps(self, generation: Any) -> Iterator[Any]:
        """The steps of the answer."""

    def finish(self, question: str, generation: Any) -> None:
        """Lets question and answer join the chat."""

    def read_ahead(self, draft: str, keep_going: Callable[[], bool]) -> int:
        """Reads a question while it is typed."""

    def restore(self, turns: Sequence[tuple[str, str]]) -> None:
        """Puts earlier turns into the chat."""

    def reset(self) -> None:
        """Empties the chat."""


@dataclass(slots=True)
class TurnTimes:
    """What was measured."""

    chat_tokens: int = 0
    """Tokens of the long chat before its first timed turn."""
    new_tokens: list[int] = field(default_factory=list)
    """Tokens that each message added to the empty chat's prompt, its frame included."""
    seconds: dict[str, list[float]] = field(default_factory=lambda: {mode: [] for mode in MODES})
    """Times to the first token, by mode, in the order of the repeats."""
    reused: dict[str, list[int]] = field(default_factory=lambda: {mode: [] for mode in MODES})
    """Tokens of the prompt that were there when the message was sent."""

    def median(self, mode: str) -> float:
        """The median time of a mode, in seconds."""
        return statistics.median(self.seconds[mode])

    def ratio(self, mode: str) -> float:
        """Time of a mode over that of the empty chat, taken message by message: the median."""
        pairs = zip(self.seconds[mode], self.seconds[EMPTY], strict=True)
        return statistics.median(long / empty for long, empty in pairs)


def message(number: int, tokens: int, count: Callable[[str], int]) -> str:
    """A text of at least so many tokens that differs from those of other numbers."""
    parts = [f"Message {number}."]
    while count(" ".join(parts)) < tokens:
        parts.append(_SENTENCE.format(17 * number + len(parts), 3 + len(parts)))
    return " ".join(parts)


def long_chat(tokens: int, count: Callable[[str], int]) -> list[tuple[str, str]]:
    """Turns of about so many tokens in all."""
    part = 150
    turns = []
    for number in range(max(1, round(tokens / (2 * part)))):
        turns.append(("user", message(1000 + number, part, count)))
        turns.append(("assistant", message(2000 + number, part, count)))
    return turns


def run_turns(
    empty: Chat,
    long: Chat,
    count: Callable[[str], int],
    chat_tokens: int,
    message_tokens: int,
    repeats: int,
    on_progress: Callable[[int], None],
) -> TurnTimes:
    """Times turns in the two chats, one after the other, with the same new text.

    Both chats answer with at most a few tokens. The long one is made first, of `chat_tokens`; each
    repeat is a further turn of it. `count` gives the tokens of a text.
    """
    times = TurnTimes()
    long.restore(long_chat(chat_tokens, count))
    _answer(long, "Go on.")
    times.chat_tokens = len(long.prompt("x"))
    # What is slow once, at the first answer of a process, counts for neither.
    _answer(empty, "Go on.")
    for number in range(repeats):
        on_progress(number)
        text = message(number, message_tokens, count)
        turned = MODES[number % len(MODES) :] + MODES[: number % len(MODES)]
        empty.reset()
        times.new_tokens.append(len(empty.prompt(text)))
        for mode in turned:
            _timed(empty, long, mode, text, times)
    return times


def _timed(empty: Chat, long: Chat, mode: str, text: str, times: TurnTimes) -> None:
    chat = long
    if mode in (EMPTY, EMPTY_READ):
        chat = empty
        chat.reset()
    if mode in (EMPTY_READ, LONG_READ):
        chat.read_ahead(text, lambda: True)
    started = time.perf_counter()
    generation = chat.begin(text)
    steps = chat.steps(generation)
    next(steps)
    times.seconds[mode].append(time.perf_counter() - started)
    times.reused[mode].append(generation.statistics.reused_tokens)
    for _ in steps:
        pass
    chat.finish(text, generation)


def _answer(chat: Chat, text: str) -> None:
    generation = chat.begin(text)
    for _ in chat.steps(generation):
        pass
    chat.finish(text, generation)
