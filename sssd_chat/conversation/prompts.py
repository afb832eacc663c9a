"""The prompts of one chat: which of its turns are in them, and their tokens."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Sequence

from sssd_chat.conversation.context import turns_left_out
from sssd_chat.conversation.known_text import KnownText
from sssd_chat.conversation.templates import ChatTemplate, Message
from sssd_chat.conversation.thinking import opened_thinking

_BRANCHES_KNOWN = 8


class ChatPrompts:
    """Questions and answers so far, and what the model knows of them already."""

    def __init__(self, template: ChatTemplate, context_length: int) -> None:
        self.template = template
        self.system = ""
        """The system prompt; empty for none."""
        self.messages: list[Message] = []
        """Questions and answers so far, in turn."""
        self.turns_left_out = 0
        """The oldest turns (a question and its answer each) that are no longer in the prompt,
        because they do not fit into the context."""
        self.known = KnownText()
        """The last prompt with its answer, as the model saw it."""
        self._other_branches: deque[KnownText] = deque(maxlen=_BRANCHES_KNOWN)
        """The same of branches that were left, so that going back to one finds its tokens."""
        self._context_length = context_length

    def clear(self) -> None:
        """Begins an empty chat."""
        self.messages = []
        self.turns_left_out = 0
        self.known = KnownText()
        self._other_branches.clear()

    def learn(self, known: KnownText) -> None:
        """This is the last prompt with its answer now."""
        if not known.text.startswith(self.known.text):
            self._other_branches.append(self.known)
        self.known = known

    def forget_beyond(self, text: str) -> None:
        """Knows nothing any more but the beginning of a text."""
        self.known = self.known.shared_with(text)
        self._other_branches.clear()

    def follow(self, messages: Sequence[Message]) -> None:
        """Goes on with these questions and answers, of another branch perhaps."""
        pairs = zip(self.messages, messages, strict=False)
        shared = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
        if 2 * self.turns_left_out > shared:
            self.turns_left_out = 0
        self.messages = list(messages)

    def fitting(
        self, question: str, max_tokens: int | None, written: str = ""
    ) -> tuple[int, KnownText]:
        """How many turns are left out of the prompt that asks a question, and the prompt without
        them; with what of the answer was `written` already. Room is kept for an answer of
        `max_tokens`. Raises UserError when it does not fit into the context."""
        prompts: dict[int, KnownText] = {}

        def prompt(left_out: int) -> KnownText:
            if left_out not in prompts:
                prompts[left_out] = self.rendered(left_out, question, written)
            return prompts[left_out]

        left_out = turns_left_out(
            lambda count: len(prompt(count).tokens),
            len(self.messages) // 2,
            self.turns_left_out,
            self._context_length,
            max_tokens,
        )
        return left_out, prompt(left_out)

    def rendered(self, left_out: int, question: str, written: str = "") -> KnownText:
        """The prompt without the oldest turns. Raises UserError when the template refuses it."""
        system = [Message("system", self.system)] if self.system else []
        kept = self.messages[2 * left_out :]
        text = self.template.render_text([*system, *kept, Message("user", question)])
        known = self._nearest(text)
        prompt = known.rendered(text, lambda rest, start: self.template.tokenize(rest, start=start))
        return self._begun(prompt, written) if written else prompt

    def _nearest(self, text: str) -> KnownText:
        """What is known of the branch that shares most with a prompt."""
        if not self._other_branches:
            return self.known
        branches = [self.known, *self._other_branches]
        return max(branches, key=lambda known: len(known.shared_with(text).text))

    def _begun(self, prompt: KnownText, written: str) -> KnownText:
        """A prompt with the beginning of its answer: the tokens of that which the model wrote
        itself, if they are known."""
        begun = self.template.protect(without_mark(written, opened_thinking(prompt.text)))
        whole = prompt.text + begun
        known = self._nearest(whole).shared_with(whole)
        if len(known.text) == len(whole):
            return known
        return prompt.followed_by(begun, self.template.tokenize(begun, start=False))

    def next_prompt(self) -> KnownText:
        """The prompt of some next question. Raises UserError when the template refuses it."""
        return self.rendered(self.turns_left_out, "?")


ReadProgress = Callable[[int, int], bool]
"""Called with (tokens read, tokens of the prompt); False stops the reading."""


def without_mark(written: str, opened: str) -> str:
    """What a model wrote after a prompt that opened its thinking with the mark `opened`, from the
    form that is kept, which has that mark."""
    return written.removeprefix(f"{opened}\n") if opened else written
