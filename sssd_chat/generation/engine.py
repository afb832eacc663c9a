"""The decoding loop: draft, verify in one batch, accept, learn.

The engine takes lists from the first day: one conversation is a list of one. It is used from one
thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic

from sssd_chat.drafting import Drafter, DraftTree, ObservedStep
from sssd_chat.errors import UserError
from sssd_chat.generation.acceptance import Acceptance, accept
from sssd_chat.generation.cost import StepCost
from sssd_chat.generation.guard import DraftGuard
from sssd_chat.generation.looks import LookingSampler, TokenSampler, best_of_refused
from sssd_chat.generation.plan import plan_drafts
from sssd_chat.generation.provenance import DraftedToken
from sssd_chat.generation.statistics import AnswerStatistics, Drafting, StepStatistics, StoppedBy
from sssd_chat.generation.stop import StopStrings
from sssd_chat.generation.target import State, VerifyingTarget
from sssd_chat.llama.sampler import Logits, SamplerChain, SamplerSettings
from sssd_chat.llama.vocabulary import PieceDecoder, Vocabulary

MAX_DRAFT = 128
"""Most nodes of one step; a sure copy pays up to about 64 on a CPU and more on a GPU."""
_PLAIN_EVERY = 64
"""At least one step in so many goes without a draft: what drafts save is measured against it."""


_WORTH_PADDING = 0.97
"""A larger batch must be faster by this factor, more than the noise of measuring."""


class PromptTooLong(UserError):
    """The prompt does not fit into the context."""


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """How one answer is written."""

    sampler: SamplerSettings = field(default_factory=SamplerSettings)
    max_tokens: int | None = None
    """Tokens of the answer; None for as many as the context holds."""
    stop: tuple[str, ...] = ()
    """Strings that end the answer; they are not part of it."""
    drafting: bool = True


@dataclass(slots=True)
class Conversation(Generic[State]):
    """One text in the target's cache with the drafter that knows it. Lives over many answers."""

    state: State
    drafter: Drafter
    guard: DraftGuard = field(default_factory=DraftGuard)
    since_plain: int = 0
    """Steps since the last one without a draft."""
    is_behind: bool = False
    """Whether the drafter has not seen the end of the text: with drafts switched off nothing is
    spent on it."""


@dataclass(slots=True)
class Step:
    """What one step added to one answer."""

    tokens: list[int]
    text: str
    """What became final; a possible beginning of a stop string is held back."""
    statistics: StepStatistics


@dataclass(slots=True)
class Generation(Generic[State]):
    """One answer being written."""

    conversation: Conversation[State]
    settings: GenerationSettings
    sampler: TokenSampler
    statistics: AnswerStatistics
    prompt: list[int]
    """Tokens of the prompt."""
    tokens: list[int] = field(default_factory=list)
    """All tokens emitted, an end token included."""
    drafted: list[DraftedToken] = field(default_factory=list)
    """Those of them that were drafted."""
    text: str = ""
    stopped_by: StoppedBy | None = None
    decoder: PieceDecoder = field(default_factory=PieceDecoder)
    stops: StopStrings = field(default_factory=lambda: StopStrings(()))
    fresh_text: list[str] = field(default_factory=list)

    @property
    def is_finished(self) -> bool:
        """Whether the answer has ended."""
        return self.stopped_by is not None

    @property
    def root(self) -> int:
        """The last emitted token, whose KV entry does not exist yet."""
        return self.tokens[-1]


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
        self._check(prompt)
        started = time.perf_counter()
        vocabulary = self.vocabulary
        generation = Generation(
            conversation,
            settings,
            SamplerChain(settings.sampler, vocabulary.size),
            AnswerStatistics(prompt_tokens=len(prompt)),
            list(prompt),
            stops=StopStrings(settings.stop),
        )
        first_report = True

        def progress(done: int) -> bool:
            nonlocal first_report
            if first_report:
                generation.statistics.reused_tokens = done
                first_report = False
            return on_progress is None or on_progress(done)

        complete = self.target.prefill(conversation.state, prompt, progress)
        if not complete:
            self._finish(generation, StoppedBy.CANCELLED)
        elif self._may_draft(generation):
            conversation.guard.wake()
            conversation.drafter.begin(prompt)
            conversation.is_behind = False
        else:
            conversation.is_behind = True
        generation.statistics.prefill_seconds = time.perf_counter() - started
        generation.statistics.drafting = self._drafting(generation)
        if settings.max_tokens is not None and settings.max_tokens < 1:
            self._finish(generation, StoppedBy.LENGTH)
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

    def _check(self, prompt: Sequence[int]) -> None:
        if not prompt:
            raise UserError("The prompt is empty.")
        if len(prompt) > self.target.context_length:
            raise PromptTooLong(
                f"The prompt has {len(prompt)} tokens and the context holds "
                f"{self.target.context_length}: shorten it by "
                f"{len(prompt) - self.target.context_length}, or use a larger --ctx."
            )

    def step(self, generations: Sequence[Generation[State]]) -> list[Step]:
        """One step for each of the answers, none of them finished. The first step of an answer
        takes the token that reading its prompt gave."""
        first = [generation for generation in generations if not generation.tokens]
        if first:
            # Their logits are those of the prompt's last chunk, which the next decode discards,
            # so begin() and the first step() of an answer belong together.
            return [self._first_step(generation) for generation in first]
        return self._verified_step(generations)

    def _first_step(self, generation: Generation[State]) -> Step:
        statistics = StepStatistics(drafting=self._drafting(generation))
        state = generation.conversation.state
        self._accept(generation, DraftTree(), statistics, lambda n: self.target.logits(state, n))
        statistics.plain_seconds = statistics.sampling_seconds
        return self._complete(generation, statistics)

    def _verified_step(self, generations: Sequence[Generation[State]]) -> list[Step]:
        target = self.target
        started = time.perf_counter()
        drafts = plan_drafts(
            [self._draft(generation) for generation in generations],
            self.cost.seconds(self._context(generations)),
            target.max_leaves,
        )
        drafted = time.perf_counter()
        items = [
            (generation.conversation.state, generation.root, tree)
            for generation, tree in zip(generations, drafts, strict=True)
        ]
        size = len(items) + sum(map(len, drafts))
        context = self._context(generations)
        padding = self._padding(size, context, len(generations[0].conversation.state.tokens))
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
            steps.append(self._take(generation, tree, statistics))
        return steps

    def _padding(self, size: int, context: int, first: int) -> int:
        """Tokens that make the batch faster by making it larger; plain steps stay plain. They are
        put behind the first text, which has `first` tokens."""
        padded = self.cost.padded(size, context)
        if size == 1 or first + padded > self.target.context_length:
            return 0
        seconds = self.cost.seconds(context)
        return padded - size if seconds[padded] < _WORTH_PADDING * seconds[size] else 0

    def _context(self, generations: Sequence[Generation[State]]) -> int:
        return sum(len(g.conversation.state.tokens) for g in generations)

    def _take(
        self, generation: Generation[State], tree: DraftTree, statistics: StepStatistics
    ) -> Step:
        conversation = generation.conversation
        state = conversation.state
        acceptance = self._accept(
            generation, tree, statistics, lambda node: self.target.logits(state, node)
        )
        self.target.commit(state, acceptance.committed)
        plain = self.cost.plain(len(state.tokens))
        if len(tree) == 0:
            statistics.plain_seconds = statistics.decode_seconds + statistics.sampling_seconds
        elif plain is not None:
            emitted = len(acceptance.emitted)
            statistics.plain_seconds = emitted * plain + statistics.sampling_seconds
        conversation.since_plain = conversation.since_plain + 1 if len(tree) else 0
        conversation.guard.observe(
            len(tree),
            len(acceptance.emitted),
            statistics.decode_seconds,
            statistics.draft_seconds,
            plain,
        )
        statistics.drafting = self._drafting(generation)
        return self._complete(generation, statistics)

    def _accept(
        self,
        generation: Generation[State],
        tree: DraftTree,
        statistics: StepStatistics,
        logits: Callable[[int], Logits],
    ) -> Acceptance:
        conversation = generation.conversation
        learns = (
            self._may_draft(generation) and conversation.guard.allows and not conversation.is_behind
        )
        wanted = conversation.drafter.best_tokens_wanted if learns else 0
        started = time.perf_counter()
        sampler = LookingSampler(generation.sampler, wanted)
        first = len(generation.tokens)
        acceptance = accept(
            tree, logits, sampler.sample, lambda token: self._emit(generation, token)
        )
        sampled = time.perf_counter()
        statistics.sampling_seconds = sampled - started
        generation.drafted += [
            DraftedToken(index, tree.origins[node], tree.places.get(node))
            for index, node in enumerate(acceptance.path, first)
        ]
        if learns:
            best = list(zip(acceptance.visited, sampler.best, strict=False))
            plain = self.cost.plain(len(conversation.state.tokens))
            best += best_of_refused(tree, acceptance, logits, wanted, plain)
            conversation.drafter.observe(
                ObservedStep(tree, acceptance.path, acceptance.emitted, best)
            )
        else:
            conversation.is_behind = True
        statistics.draft_seconds += time.perf_counter() - sampled
        statistics.emitted = len(acceptance.emitted)
        statistics.tested = acceptance.tested
        statistics.accepted = len(acceptance.path)
        statistics.by_source = acceptance.by_source
        statistics.by_depth = acceptance.by_depth
        return acceptance

    def _emit(self, generation: Generation[State], token: int) -> bool:
        """Adds a token to the answer; True when the answer ends with it."""
        generation.tokens.append(token)
        if self.vocabulary.is_end_of_generation(token):
            self._finish(generation, StoppedBy.END)
            return True
        piece = generation.decoder.feed(self.vocabulary.piece(token))
        self._add_text(generation, generation.stops.feed(piece))
        limit = generation.settings.max_tokens
        if generation.stops.found is not None:
            self._finish(generation, StoppedBy.STOP)
        elif limit is not None and len(generation.tokens) >= limit:
            self._finish(generation, StoppedBy.LENGTH)
        return generation.is_finished

    def _complete(self, generation: Generation[State], statistics: StepStatistics) -> Step:
        state = generation.conversation.state
        if not generation.is_finished and len(state.tokens) >= self.target.context_length:
            self._finish(generation, StoppedBy.CONTEXT)
        statistics.context_tokens = len(state.tokens)
        generation.statistics.add(statistics)
        text = "".join(generation.fresh_text)
        generation.fresh_text.clear()
        first_new = len(generation.tokens) - statistics.emitted
        return Step(generation.tokens[first_new:], text, statistics)

    def cancel(self, generation: Generation[State]) -> str:
        """Ends an answer where it is; returns the text that had been held back."""
        if not generation.is_finished:
            self._finish(generation, StoppedBy.CANCELLED)
        text = "".join(generation.fresh_text)
        generation.fresh_text.clear()
        return text

    def _finish(self, generation: Generation[State], reason: StoppedBy) -> None:
        generation.stopped_by = reason
        self._add_text(generation, generation.stops.finish())
        generation.sampler.close()

    def _add_text(self, generation: Generation[State], text: str) -> None:
        if text:
            generation.text += text
            generation.fresh_text.append(text)

    # Drafting

    def _may_draft(self, generation: Generation[State]) -> bool:
        return self.target.can_verify_trees and generation.settings.drafting

    def _drafting(self, generation: Generation[State]) -> Drafting:
        if not self.target.can_verify_trees:
            return Drafting.IMPOSSIBLE
        if not generation.settings.drafting:
            return Drafting.OFF_BY_USER
        guard = generation.conversation.guard
        return Drafting.ON if guard.allows and not guard.is_quiet else Drafting.OFF_BY_COST

    def _draft(self, generation: Generation[State]) -> DraftTree:
        """The largest draft that may be of use: the plan cuts it to the size that pays."""
        conversation = generation.conversation
        if not self._may_draft(generation) or not conversation.guard.allows:
            return DraftTree()
        if conversation.is_behind:
            conversation.drafter.begin([*conversation.state.tokens, generation.root])
            conversation.is_behind = False
        length = len(conversation.state.tokens)
        limit = generation.settings.max_tokens
        is_last = limit is not None and limit - len(generation.tokens) <= 1
        if conversation.since_plain >= _PLAIN_EVERY or is_last:
            return DraftTree()
        budget = min(MAX_DRAFT, self.target.max_draft, self.target.context_length - length - 1)
        if budget <= 0:
            return DraftTree()
        return conversation.drafter.draft(budget, self.cost.floor(length))
