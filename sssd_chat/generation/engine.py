"""The decoding loop: draft, verify in one batch, accept, learn.

The engine takes lists from the first day: one conversation is a list of one. It is used from one
thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Generic

from sssd_chat.drafting import Drafter, DraftTree
from sssd_chat.generation.answer import Conversation, Generation, GenerationSettings, Step
from sssd_chat.generation.cost import StepCost
from sssd_chat.generation.plan import Limits, plan_drafts
from sssd_chat.generation.statistics import AnswerStatistics, StepStatistics, StoppedBy
from sssd_chat.generation.stop import StopStrings
from sssd_chat.generation.target import State, VerifyingTarget
from sssd_chat.generation.writing import MAX_DRAFT, PromptTooLong, Writer
from sssd_chat.llama.vocabulary import Vocabulary

__all__ = [
    "MAX_DRAFT",
    "Conversation",
    "Engine",
    "Generation",
    "GenerationSettings",
    "PromptTooLong",
    "Step",
]

_WORTH_PADDING = 0.97
"""A larger batch must be faster by this factor, more than the noise of measuring."""


class Engine(Generic[State]):
    """Writes answers with one target model."""

    def __init__(
        self,
        target: VerifyingTarget[State],
        vocabulary: Vocabulary,
        cost: StepCost | None = None,
    ) -> None:
        self.target = target
        self.vocabulary = vocabulary
        self.cost = cost or StepCost(MAX_DRAFT + 1)
        self.writer = Writer(target, vocabulary, self.cost)

    def open(self, drafter: Drafter) -> Conversation[State]:
        """A new, empty conversation."""
        return Conversation(self.target.open_sequence(), drafter)

    def close(self, conversation: Conversation[State]) -> None:
        """Takes a conversation out of the cache."""
        self.target.close_sequence(conversation.state)

    def begin(
        self,
        conversation: Conversation[State],
        prompt: Sequence[int],
        settings: GenerationSettings,
        on_progress: Callable[[int], bool] | None = None,
    ) -> Generation[State]:
        """Reads the prompt (what the conversation shares with it is not read again) and starts an
        answer. `on_progress` is told the tokens read and may return False to stop; then the answer
        is finished, cancelled, before its first token.

        Raises PromptTooLong, or UserError for an empty prompt.
        """
        self.writer.check(prompt)
        started = time.perf_counter()
        generation = Generation(
            settings,
            self.writer.sampler(settings),
            AnswerStatistics(prompt_tokens=len(prompt)),
            list(prompt),
            stops=StopStrings(settings.stop),
            conversation=conversation,
        )
        first_report = True

        def progress(done: int) -> bool:
            nonlocal first_report
            if first_report:
                generation.statistics.reused_tokens = done
                first_report = False
            return on_progress is None or on_progress(done)

        if self.target.prefill(conversation.state, prompt, progress):
            self.writer.read_drafter(conversation, generation)
        else:
            generation.finish(StoppedBy.CANCELLED)
        generation.statistics.prefill_seconds = time.perf_counter() - started
        generation.statistics.drafting = self.writer.drafting(conversation, generation)
        if settings.max_tokens is not None and settings.max_tokens < 1:
            generation.finish(StoppedBy.LENGTH)
        return generation

    def read_ahead(
        self,
        conversation: Conversation[State],
        tokens: Sequence[int],
        keep_going: Callable[[], bool],
    ) -> int:
        """Reads the beginning of a prompt that is still being made, between two answers; `begin`
        goes on from there, with the same answer as without. `keep_going` is asked before each
        chunk. Returns the tokens that need not be read any more."""
        return self.target.read_ahead(conversation.state, tokens, keep_going)

    def step(self, generations: Sequence[Generation[State]]) -> list[Step]:
        """One step for each of the answers, none of them finished. The first step of an answer
        takes the token that reading its prompt gave."""
        first = [generation for generation in generations if not generation.tokens]
        if first:
            # Their logits are those of the prompt's last chunk, which the next decode discards,
            # so begin() and the first step() of an answer belong together.
            return [self.writer.first_step(g.conversation, g) for g in first]
        return self._verified_step(generations)

    def _verified_step(self, generations: Sequence[Generation[State]]) -> list[Step]:
        target = self.target
        started = time.perf_counter()
        context = sum(len(g.conversation.state.tokens) for g in generations)
        drafts = plan_drafts(
            [self._draft(generation) for generation in generations],
            self.cost.seconds(context),
            Limits(target.max_branches, target.max_batch - len(generations)),
        )
        drafted = time.perf_counter()
        items = [
            (generation.conversation.state, generation.root, tree)
            for generation, tree in zip(generations, drafts, strict=True)
        ]
        size = len(items) + sum(map(len, drafts))
        padding = self.padding(size, context, len(generations[0].conversation.state.tokens))
        decode_seconds = target.verify(items, padding)
        verified = time.perf_counter()
        self.cost.observe(size + padding, context, decode_seconds)
        steps = []
        for generation, tree in zip(generations, drafts, strict=True):
            statistics = StepStatistics(
                draft_size=len(tree),
                draft_seconds=(drafted - started) / len(items),
                decode_seconds=decode_seconds / len(items),
                other_seconds=max(0.0, verified - drafted - decode_seconds) / len(items),
            )
            conversation = generation.conversation
            plain = self.cost.plain(len(conversation.state.tokens))
            steps.append(self.writer.take(conversation, generation, tree, statistics, plain))
        return steps

    def _draft(self, generation: Generation[State]) -> DraftTree:
        conversation = generation.conversation
        floor = self.cost.floor(len(conversation.state.tokens))
        return self.writer.draft(conversation, generation, floor)

    def padding(self, size: int, context: int, first: int) -> int:
        """Tokens that make the batch faster by making it larger; plain steps stay plain. They are
        put behind the first text, which has `first` tokens."""
        padded = self.cost.padded(size, context)
        fits = first + padded <= self.target.context_length and padded <= self.target.max_draft + 1
        if size == 1 or not fits:
            return 0
        seconds = self.cost.seconds(context)
        return padded - size if seconds[padded] < _WORTH_PADDING * seconds[size] else 0

    def cancel(self, generation: Generation[State]) -> str:
        """Ends an answer where it is; returns the text that had been held back."""
        return generation.cancel()
