"""The drafter of this application: spliced sources, learned probabilities, best-first search."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence

from sssd_chat.datastore.snapshot import Place as StoredPlace
from sssd_chat.drafting.drafter import ObservedStep
from sssd_chat.drafting.evidence import Evidence, copy_class, ranked
from sssd_chat.drafting.experience import Experience
from sssd_chat.drafting.runnerups import KEPT
from sssd_chat.drafting.sources.conversation import CopyingConversation
from sssd_chat.drafting.sources.copying import ANCHOR, TRUSTED, CopyPointer
from sssd_chat.drafting.sources.stored import (
    StoredCursor,
    StoredSource,
    followed_in_store,
    stored_place,
)
from sssd_chat.drafting.sources.trie import advanced_keys
from sssd_chat.drafting.tree import ROOT, DraftTree

ORDERS = 6
"""Longest context that the conversation trie matches; longer agreement is a copy's affair."""
LEAST_BRANCH = 0.005
"""Candidates less likely than this at their place are not drafted whatever a node costs."""
LIKELY_BEST = 0.25
"""A node is not expanded when a child with this chance would not get into the draft."""
LIKELY_COPY = 0.9
"""The same for a node that goes on with a copy."""
SURE_COPY = 10
"""A copy of this length is followed below the root without looking at other candidates."""
CONTEXT = 3
"""Last tokens that the estimator is told."""
RUNNER_UPS = "runner-ups"
"""Origin of nodes that only runner-ups know."""

_Candidate = tuple[float, int, int]
"""Minus the probability, the parent node and the token."""


class _Place:
    """A node of the draft, or its root, as all sources see it."""

    __slots__ = ("context", "copy", "is_stored", "keys", "own_copy", "store", "stored_copy")

    def __init__(
        self,
        context: tuple[int, ...],
        keys: list[int],
        own_copy: CopyPointer | None,
        store: StoredCursor | None,
        stored_copy: CopyPointer | None,
    ) -> None:
        self.context = context
        self.keys = keys
        self.own_copy = own_copy
        """A copy from the conversation."""
        self.store = store
        self.stored_copy = stored_copy
        """A copy from the datastore."""
        self.is_stored = stored_copy is not None and (
            own_copy is None or stored_copy.length > own_copy.length
        )
        self.copy = stored_copy if self.is_stored else own_copy
        """The longer one of the two."""


class SssdDrafter:
    """Drafts from the conversation, a datastore and runner-ups, and learns how far to trust each.

    Deterministic: the same calls after the same experience give the same drafts. The conversation
    is replaced by `begin`; the experience outlives conversations and may be shared by the
    drafters of several.
    """

    best_tokens_wanted = KEPT

    def __init__(
        self,
        experience: Experience | None = None,
        datastore: StoredSource | None = None,
        is_end: Callable[[int], bool] = lambda token: False,
    ) -> None:
        """Without `experience` it starts from priors; without `datastore` it drafts from the
        conversation and the runner-ups alone. `is_end` tells whether an answer is over with a
        token: what follows it in the text is never drafted."""
        self.experience = experience if experience is not None else Experience()
        self._datastore = datastore
        self._is_end = is_end
        self._conversation = CopyingConversation(ORDERS)
        self._stored_copy: CopyPointer | None = None
        """The text of the datastore that the end of the conversation repeats."""
        self._drafted: dict[int, Evidence] = {}
        """Evidence gathered for the last draft, by node; good until the text changes."""

    def begin(self, tokens: Sequence[int]) -> None:
        """See Drafter."""
        self._conversation.begin(tokens)
        self._stored_copy = None
        self._find_stored_copy()
        self._drafted = {}

    def draft(
        self,
        budget: int,
        floor: float = 0.0,
        *,
        branches: bool = True,
        depth: int | None = None,
    ) -> DraftTree:
        """See Drafter."""
        tree = DraftTree()
        self._drafted = {}
        if budget < 1 or depth == 0 or not self._conversation.tokens:
            return tree
        # The best candidates in falling order, those before `len(tree)` already in the tree. A
        # child is less likely than its parent, so it always sorts in behind it.
        queue: list[_Candidate] = []
        places = {ROOT: self._root()}
        children = None if branches else 1
        self._expand(places[ROOT], ROOT, 1.0, floor, budget, queue, children)
        depths = {ROOT: 0}
        while len(tree) < len(queue):
            falling, parent, token = queue[len(tree)]
            above = places[parent]
            copies = above.copy is not None and above.copy.token == token
            node = tree.add(token, parent, -falling, *self._origin(above, parent, token, copies))
            depths[node] = depths[parent] + 1
            least = -queue[-1][0] if len(queue) == budget else floor
            is_hopeful = -falling * (LIKELY_COPY if copies else LIKELY_BEST) > least
            if is_hopeful and depths[node] != depth and not self._is_end(token):
                places[node] = self._child(above, token)
                self._expand(places[node], node, -falling, floor, budget, queue, children)
        return tree

    def observe(self, step: ObservedStep) -> None:
        """See Drafter."""
        best_tokens = dict(step.best_tokens)
        self._learn_refused(step)
        node = ROOT
        for place, token in enumerate(step.emitted):
            if self._conversation.tokens:
                evidence = self._drafted.get(node)
                # A step need not come from the last draft: another tree, another evidence.
                if evidence is None or evidence.context != self._context():
                    evidence = self._evidence(self._root())
                self.experience.estimator.learn(evidence, token)
                best = best_tokens.get(node)
                if best:
                    self.experience.runner_ups.add(self._conversation.trie.keys, best)
            self._conversation.extend((token,))
            self._stored_copy = followed_in_store(self._stored_copy, token)
            self._find_stored_copy()
            if place < len(step.path):
                node = step.path[place]
        self._drafted = {}

    def _learn_refused(self, step: ObservedStep) -> None:
        """Keeps what the target thought best after drafted tokens that it did not take."""
        runner_ups = self.experience.runner_ups
        reached = {ROOT, *step.path}
        for node, best in step.best_tokens:
            if node in reached:
                continue
            keys = self._conversation.trie.keys
            for above in step.tree.path(node):
                keys = advanced_keys(keys, step.tree.tokens[above], ORDERS)
            runner_ups.add_unsaid(keys, best)

    def _expand(
        self,
        place: _Place,
        node: int,
        reach: float,
        floor: float,
        budget: int,
        queue: list[_Candidate],
        most: int | None,
    ) -> None:
        """Puts the children of a node, itself accepted with the chance `reach`, into the queue:
        the best `most` of them, or all."""
        least = max(LEAST_BRANCH, floor / reach)
        if len(queue) == budget:
            least = max(least, -queue[-1][0] / reach)
        if least >= 1.0:
            return
        estimator = self.experience.estimator
        copy = place.copy
        if copy is not None and copy.length >= SURE_COPY and not copy.misses and node != ROOT:
            # Far into a copy there is nothing to weigh, and no time for it in a long draft.
            probability = estimator.copy_probability(copy_class(copy, place.is_stored))
            children = [(probability, copy.token)]
        else:
            evidence = self._drafted[node] = self._evidence(place)
            children = estimator.probabilities(evidence, least)
        for probability, token in children[:most]:
            falling = -probability * reach
            if -falling < floor:
                return
            if len(queue) == budget:
                if falling >= queue[-1][0]:
                    return
                queue.pop()
            insort(queue, (falling, node, token))

    def _context(self) -> tuple[int, ...]:
        """The last tokens of the text, the last one first."""
        return tuple(self._conversation.tokens[: -CONTEXT - 1 : -1])

    def _find_stored_copy(self) -> None:
        """Looks for a copy from the datastore where none is known, or one too short to be sure."""
        copy, tokens = self._stored_copy, self._conversation.tokens
        if self._datastore is not None and tokens and (copy is None or copy.length < ANCHOR):
            self._stored_copy = self._datastore.cursor(tokens).copy(tokens) or copy

    def _root(self) -> _Place:
        conversation = self._conversation
        return _Place(
            self._context(),
            conversation.trie.keys,
            conversation.pointer,
            None if self._datastore is None else self._datastore.cursor(conversation.tokens),
            self._stored_copy,
        )

    def _child(self, parent: _Place, token: int) -> _Place:
        keys = advanced_keys(parent.keys, token, ORDERS)
        return _Place(
            (token, *parent.context[: CONTEXT - 1]),
            keys,
            self._conversation.advanced(parent.own_copy, keys, token),
            None if parent.store is None else parent.store.advance(token),
            followed_in_store(parent.stored_copy, token),
        )

    def _evidence(self, place: _Place) -> Evidence:
        copy = place.copy
        # A copy from the conversation knows better than any text from elsewhere.
        sure = copy is not None and copy.length >= TRUSTED and not place.is_stored
        store = None if sure else place.store
        return Evidence(
            place.context,
            self._conversation.trie.matches(place.keys),
            [] if store is None else store.matches(),
            ranked(self.experience.runner_ups.tables, place.keys),
            -1 if copy is None else copy.token,
            0 if copy is None else copy_class(copy, place.is_stored),
        )

    def _origin(
        self, place: _Place, node: int, token: int, copies: bool
    ) -> tuple[str, StoredPlace | None]:
        """The name of the source of a child of `node`, and where it stands in the datastore."""
        evidence = self._drafted.get(node)
        own = evidence is not None and token in evidence.conversation
        if own or (copies and not place.is_stored):
            return self._conversation.name, None
        found = None
        if copies and place.copy is not None:
            found = stored_place(place.copy)
        elif place.store is not None and evidence is not None and token in evidence.store:
            found = place.store.place(token)
        return (RUNNER_UPS, None) if found is None else (found.collection, found)
