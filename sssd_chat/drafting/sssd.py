"""The drafter of this application: spliced sources, learned probabilities, best-first search."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence

from sssd_chat.drafting.drafter import ObservedStep
from sssd_chat.drafting.evidence import Evidence, bucketed, copy_class, ranked
from sssd_chat.drafting.experience import Experience
from sssd_chat.drafting.runnerups import KEPT
from sssd_chat.drafting.source import Cursor, Source
from sssd_chat.drafting.sources.conversation import CopyingConversation
from sssd_chat.drafting.sources.copying import CopyPointer
from sssd_chat.drafting.sources.trie import TrieCursor, advanced_keys
from sssd_chat.drafting.tree import ROOT, DraftTree

ORDERS = 6
"""Longest context that the conversation trie matches; longer agreement is a copy's affair."""
LEAST_BRANCH = 0.005
"""Candidates less likely than this at their place are not drafted whatever a node costs."""
RUNNER_UPS = "runner-ups"
"""Origin of nodes that only runner-ups know."""


class _Place:
    """A node of the draft, or its root, as all sources see it."""

    __slots__ = ("context", "copy", "keys", "store")

    def __init__(
        self,
        context: tuple[int, ...],
        keys: list[int],
        copy: CopyPointer | None,
        store: Cursor | None,
    ) -> None:
        self.context = context
        self.keys = keys
        self.copy = copy
        self.store = store


class SssdDrafter:
    """Drafts from the conversation, a datastore and runner-ups, and learns how far to trust each.

    Deterministic: the same calls after the same experience give the same drafts. The conversation
    is replaced by `begin`; the experience outlives conversations and may be shared by the
    drafters of several.
    """

    best_tokens_wanted = KEPT

    def __init__(
        self, experience: Experience | None = None, datastore: Source | None = None
    ) -> None:
        """Without `experience` it starts from priors; without `datastore` it drafts from the
        conversation and the runner-ups alone."""
        self.experience = experience if experience is not None else Experience()
        self._datastore = datastore
        self._conversation = CopyingConversation(ORDERS)
        self._drafted: dict[int, Evidence] = {}
        """Evidence gathered for the last draft, by node; good until the text changes."""

    def begin(self, tokens: Sequence[int]) -> None:
        """See Drafter."""
        self._conversation.begin(tokens)
        self._drafted = {}

    def draft(self, budget: int, floor: float = 0.0) -> DraftTree:
        """See Drafter."""
        tree = DraftTree()
        self._drafted = {}
        if budget < 1 or not self._conversation.tokens:
            return tree
        # The best candidates in falling order, those before `len(tree)` already in the tree. A
        # child is less likely than its parent, so it always sorts in behind it.
        queue: list[tuple[float, int, int, int]] = []
        places = [self._root()]
        self._expand(places[-1], ROOT, 1.0, floor, budget, queue)
        while len(tree) < len(queue):
            falling, _, parent, token = queue[len(tree)]
            node = tree.add(token, parent, -falling, self._origin(parent, token))
            least = -queue[-1][0] if len(queue) == budget else floor
            place = None
            if -falling * LIKELY_BEST > least:
                place = self._child(places[parent + 1], token)
                self._expand(place, node, -falling, floor, budget, queue)
            places.append(place)
        return tree

    def observe(self, step: ObservedStep) -> None:
        """See Drafter."""
        best_tokens = dict(step.best_tokens)
        node = ROOT
        for place, token in enumerate(step.emitted):
            if self._conversation.tokens:
                evidence = self._drafted.get(node)
                if evidence is None:
                    evidence = self._evidence(self._root())
                self.experience.estimator.learn(evidence, token)
                best = best_tokens.get(node)
                if best:
                    self.experience.runner_ups.add(self._conversation.trie.keys, best)
            self._conversation.extend((token,))
            if place < len(step.path):
                node = step.path[place]
        self._drafted = {}
