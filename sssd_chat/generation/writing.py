"""What the loops share: an answer is begun, drafted for, and takes what a step verified."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Generic

from sssd_chat.drafting import DraftTree, ObservedStep
from sssd_chat.errors import UserError
from sssd_chat.generation.acceptance import Acceptance, accept
from sssd_chat.generation.answer import Answer, Conversation, GenerationSettings, Step
from sssd_chat.generation.cost import StepCost
from sssd_chat.generation.looks import LookingSampler, best_of_refused
from sssd_chat.generation.provenance import DraftedToken
from sssd_chat.generation.statistics import Drafting, StepStatistics, StoppedBy
from sssd_chat.generation.target import State, VerifyingTarget
from sssd_chat.llama.sampler import Logits, SamplerChain
from sssd_chat.llama.shape import DraftShape
from sssd_chat.llama.vocabulary import Vocabulary

MAX_DRAFT = 128
"""Most nodes of one step; a sure copy pays up to about 64 on a CPU and more on a GPU."""
_PLAIN_EVERY = 64
"""At least one step in so many goes without a draft: what drafts save is measured against it."""


class PromptTooLong(UserError):
    """The prompt does not fit into the context."""


class Writer(Generic[State]):
    """Writes answers with one target model, whatever loop calls it. Holds no answer itself."""

    def __init__(
        self, target: VerifyingTarget[State], vocabulary: Vocabulary, cost: StepCost
    ) -> None:
        self.target = target
        self.vocabulary = vocabulary
        self.cost = cost

    def check(self, prompt: Sequence[int]) -> None:
        """Raises PromptTooLong, or UserError for an empty prompt."""
        if not prompt:
            raise UserError("The prompt is empty.")
        if len(prompt) > self.target.context_length:
            raise PromptTooLong(
                f"The prompt has {len(prompt)} tokens and the context holds "
                f"{self.target.context_length}: shorten it by "
                f"{len(prompt) - self.target.context_length}, or use a larger --ctx."
            )

    def sampler(self, settings: GenerationSettings) -> SamplerChain:
        """The sampler of a new answer. Raises UserError for a broken grammar."""
        return SamplerChain(settings.sampler, self.vocabulary.size, self.vocabulary.pointer)

    def read_drafter(self, conversation: Conversation[State], answer: Answer) -> None:
        """Tells the drafter of the text, now that all but the root of it is in the cache."""
        if self.may_draft(answer):
            conversation.guard.wake()
            conversation.drafter.begin([*answer.prompt, *answer.tokens])
            conversation.is_behind = False
        else:
            conversation.is_behind = True

    def first_step(self, conversation: Conversation[State], answer: Answer) -> Step:
        """Takes the token that reading the prompt gave. Its logits are those of the last decode."""
        statistics = StepStatistics(drafting=self.drafting(conversation, answer))
        self._accept(conversation, answer, DraftTree(), statistics)
        statistics.plain_seconds = statistics.sampling_seconds
        return self._complete(conversation, answer, statistics)

    def take(
        self,
        conversation: Conversation[State],
        answer: Answer,
        tree: DraftTree,
        statistics: StepStatistics,
        plain_seconds: float | None,
    ) -> Step:
        """Accepts what the last decode verified and commits it. `plain_seconds` is what the
        sequence's part of a step without drafts takes, None while unknown."""
        acceptance = self._accept(conversation, answer, tree, statistics)
        self.target.commit(conversation.state, acceptance.committed)
        if len(tree) == 0:
            statistics.plain_seconds = statistics.decode_seconds + statistics.sampling_seconds
        elif plain_seconds is not None:
            # One token is not slower than many: a probe beside a busy program must promise nothing.
            each = min(plain_seconds, statistics.decode_seconds)
            emitted = len(acceptance.emitted)
            statistics.plain_seconds = emitted * each + statistics.sampling_seconds
        conversation.since_plain = conversation.since_plain + 1 if len(tree) else 0
        conversation.guard.observe(
            len(tree),
            len(acceptance.emitted),
            statistics.decode_seconds,
            statistics.draft_seconds,
            plain_seconds,
        )
        statistics.drafting = self.drafting(conversation, answer)
        return self._complete(conversation, answer, statistics)

    def _accept(
        self,
        conversation: Conversation[State],
        answer: Answer,
        tree: DraftTree,
        statistics: StepStatistics,
    ) -> Acceptance:
        def logits(node: int) -> Logits:
            return self.target.logits(conversation.state, node)

        learns = self.may_draft(answer) and conversation.guard.allows and not conversation.is_behind
        wanted = conversation.drafter.best_tokens_wanted if learns else 0
        started = time.perf_counter()
        sampler = LookingSampler(answer.sampler, wanted)
        first = len(answer.tokens)
        acceptance = accept(
            tree, logits, sampler.sample, lambda token: answer.emit(token, self.vocabulary)
        )
        sampled = time.perf_counter()
        statistics.sampling_seconds = sampled - started
        answer.drafted += [
            DraftedToken(index, tree.origins[node], tree.places.get(node))
            for index, node in enumerate(acceptance.path, first)
        ]
        if learns:
            self._teach(conversation, tree, acceptance, logits, sampler.best)
        else:
            conversation.is_behind = True
        statistics.draft_seconds += time.perf_counter() - sampled
        statistics.emitted = len(acceptance.emitted)
        statistics.tested = acceptance.tested
        statistics.accepted = len(acceptance.path)
        statistics.by_source = acceptance.by_source
        statistics.by_depth = acceptance.by_depth
        return acceptance

    def _teach(
        self,
        conversation: Conversation[State],
        tree: DraftTree,
        acceptance: Acceptance,
        logits: Callable[[int], Logits],
        seen: Sequence[tuple[int, ...]],
    ) -> None:
        wanted = conversation.drafter.best_tokens_wanted
        best = list(zip(acceptance.visited, seen, strict=False))
        plain = self.cost.plain(len(conversation.state.tokens))
        best += best_of_refused(tree, acceptance, logits, wanted, plain)
        conversation.drafter.observe(ObservedStep(tree, acceptance.path, acceptance.emitted, best))

    def _complete(
        self, conversation: Conversation[State], answer: Answer, statistics: StepStatistics
    ) -> Step:
        length = len(conversation.state.tokens)
        if not answer.is_finished and length >= self.target.context_length:
            answer.finish(StoppedBy.CONTEXT)
        statistics.context_tokens = length
        answer.statistics.add(statistics)
        first_new = len(answer.tokens) - statistics.emitted
        return Step(answer.tokens[first_new:], answer.take_text(), statistics)

    # Drafting

    def may_draft(self, answer: Answer) -> bool:
        """Whether drafts are possible and wanted."""
        return self.target.shape.can_draft and answer.settings.drafting

    def drafting(self, conversation: Conversation[State], answer: Answer) -> Drafting:
        """Whether drafts are in use, and if not, why."""
        if not self.target.shape.can_draft:
            return Drafting.IMPOSSIBLE
        if not answer.settings.drafting:
            return Drafting.OFF_BY_USER
        guard = conversation.guard
        return Drafting.ON if guard.allows and not guard.is_quiet else Drafting.OFF_BY_COST

    def draft(self, conversation: Conversation[State], answer: Answer, floor: float) -> DraftTree:
        """The largest draft that may be of use, without nodes less probable than `floor`: the plan
        cuts it to the size that pays."""
        if not self.may_draft(answer) or not conversation.guard.allows:
            return DraftTree()
        if conversation.is_behind:
            conversation.drafter.begin([*conversation.state.tokens, answer.root])
            conversation.is_behind = False
        if conversation.since_plain >= _PLAIN_EVERY:
            return DraftTree()
        room = self.target.context_length - len(conversation.state.tokens) - 1
        budget = min(MAX_DRAFT, self.target.max_draft, room)
        limit = answer.settings.max_tokens
        # The target adds a token to what it accepts.
        depth = budget if limit is None else min(budget, limit - len(answer.tokens) - 1)
        if depth <= 0:
            return DraftTree()
        branches = self.target.shape is DraftShape.TREES
        return conversation.drafter.draft(budget, floor, branches=branches, depth=depth)
