"""Answers that begin with the model's thinking: `<think>…</think>` and its like."""

from __future__ import annotations

from enum import Enum, auto

from sssd_chat.conversation.parts import Parts
from sssd_chat.generation.tokenizer import THINKING_MARKS

__all__ = ["Parts", "ThinkingSplitter", "opened_thinking", "split_thinking"]


def opened_thinking(prompt: str) -> str:
    """The mark of a thinking block that a rendered prompt leaves open, so that the answer begins
    inside of it; empty for none."""
    end = prompt.rstrip()
    return next((begin for begin, _ in THINKING_MARKS if end.endswith(begin)), "")


def closed_thinking(opened: str) -> str:
    """What ends a thinking block at once that a prompt left open with the mark `opened`."""
    return f"\n{dict(THINKING_MARKS)[opened]}\n\n"


def split_thinking(text: str, opened: str = "") -> Parts:
    """A whole answer, divided; `opened` as `opened_thinking` gave it for its prompt."""
    splitter = ThinkingSplitter(opened)
    return splitter.feed(text) + splitter.finish()


class _Stage(Enum):
    START = auto()
    THINKING = auto()
    ANSWER = auto()


class ThinkingSplitter:
    """Divides an answer that comes piece by piece.

    Thinking is recognized at the beginning of an answer alone: further on a mark is something that
    the answer talks about. White space around the marks belongs to neither part; what may be the
    beginning of a mark is held back until the next piece decides.
    """

    def __init__(self, opened: str = "") -> None:
        """`opened` is the mark with which the prompt began the block already, or empty."""
        self._opened = opened
        self._marks = [pair for pair in THINKING_MARKS if opened in ("", pair[0])]
        self._end = ""
        self._held = ""
        self._stage = _Stage.START
        self._skips_space = False

    def feed(self, text: str) -> Parts:
        """What became certain with this piece."""
        self._held += text
        match self._stage:
            case _Stage.START:
                return self._at_start()
            case _Stage.THINKING:
                return self._in_thinking()
            case _Stage.ANSWER:
                return self._in_answer()

    def finish(self) -> Parts:
        """What was held back, when nothing more comes."""
        held, self._held = self._held, ""
        if self._stage is _Stage.ANSWER or not (self._end or self._opened):
            return Parts(text=held)
        return Parts(thinking=held.rstrip())

    def _at_start(self) -> Parts:
        start = self._held.lstrip()
        for begin, end in self._marks:
            if start.startswith(begin):
                self._held = start[len(begin) :]
                return self._enter(end)
        if any(begin.startswith(start) for begin, _ in self._marks):
            return Parts()
        if self._opened:
            return self._enter(self._marks[0][1])
        self._stage = _Stage.ANSWER
        return self._in_answer()

    def _enter(self, end: str) -> Parts:
        self._end = end
        self._skips_space = True
        self._stage = _Stage.THINKING
        return self._in_thinking()

    def _in_thinking(self) -> Parts:
        if self._skips_space:
            self._held = self._held.lstrip()
            self._skips_space = not self._held
        thinking, mark, rest = self._held.partition(self._end)
        if mark:
            self._held = rest
            self._skips_space = True
            self._stage = _Stage.ANSWER
            return Parts(thinking=thinking.rstrip()) + self._in_answer()
        # White space may turn out to be the last before the mark.
        certain = thinking[: len(thinking) - _beginning_at_end(thinking, self._end)].rstrip()
        self._held = thinking[len(certain) :]
        return Parts(thinking=certain)

    def _in_answer(self) -> Parts:
        text, self._held = self._held, ""
        if self._skips_space:
            text = text.lstrip()
            self._skips_space = not text
        return Parts(text=text)


def _beginning_at_end(text: str, mark: str) -> int:
    """Length of the longest end of `text` with which `mark` begins."""
    longest = min(len(text), len(mark) - 1)
    return next((n for n in range(longest, 0, -1) if mark.startswith(text[-n:])), 0)
