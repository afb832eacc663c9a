"""The draft: a tree of candidate tokens for one step."""

from __future__ import annotations

from dataclasses import dataclass, field

from sssd_chat.datastore.snapshot import Place

ROOT = -1
"""Parent index of the nodes that follow the last committed token."""


@dataclass(slots=True)
class DraftTree:
    """Candidate continuations of the last committed token (the root, which is not listed).

    The four lists are parallel, one entry a node. A parent stands before its children, and the
    nodes stand in falling order of probability, so the first n nodes are a tree of their own: the
    best one of that size.
    """

    tokens: list[int] = field(default_factory=list)
    """Token ids."""
    parents: list[int] = field(default_factory=list)
    """Index of the parent node, or ROOT."""
    probabilities: list[float] = field(default_factory=list)
    """Estimated chance, 0 to 1, that the node is accepted (all its ancestors included)."""
    origins: list[str] = field(default_factory=list)
    """Name of the source that a node came from, as shown on screen."""
    places: dict[int, Place] = field(default_factory=dict, compare=False)
    """Where in the datastore the nodes from there were found."""

    def __len__(self) -> int:
        """The number of nodes, the root not counted."""
        return len(self.tokens)

    def add(
        self, token: int, parent: int, probability: float, origin: str, place: Place | None = None
    ) -> int:
        """Appends a node and returns its index."""
        if place is not None:
            self.places[len(self.tokens)] = place
        self.tokens.append(token)
        self.parents.append(parent)
        self.probabilities.append(probability)
        self.origins.append(origin)
        return len(self.tokens) - 1

    def first(self, size: int) -> DraftTree:
        """The tree of the first `size` nodes; itself when it has no more than that."""
        if size >= len(self.tokens):
            return self
        return DraftTree(
            self.tokens[:size],
            self.parents[:size],
            self.probabilities[:size],
            self.origins[:size],
            {node: place for node, place in self.places.items() if node < size},
        )

    def depths(self) -> list[int]:
        """Depth of each node; a child of the root has depth 1."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(1 if parent == ROOT else depths[parent] + 1)
        return depths

    def path(self, node: int) -> list[int]:
        """Node indices from the root's child down to `node`, both included."""
        nodes: list[int] = []
        while node != ROOT:
            nodes.append(node)
            node = self.parents[node]
        nodes.reverse()
        return nodes

    def check_integrity(self) -> None:
        """Raises ValueError unless the lists are parallel, parents come first, siblings hold
        different tokens, and probabilities fall."""
        size = len(self.tokens)
        if not size == len(self.parents) == len(self.probabilities) == len(self.origins):
            raise ValueError("the lists of a draft tree differ in length")
        seen: set[tuple[int, int]] = set()
        for node, (token, parent) in enumerate(zip(self.tokens, self.parents, strict=True)):
            if not ROOT <= parent < node:
                raise ValueError(f"node {node} stands before its parent {parent}")
            if (parent, token) in seen:
                raise ValueError(f"node {node} repeats token {token} under parent {parent}")
            seen.add((parent, token))
        if any(a < b for a, b in zip(self.probabilities, self.probabilities[1:], strict=False)):
            raise ValueError("the probabilities of a draft tree must fall")
