"""Whether nodes given probability p are accepted p of the time."""

from __future__ import annotations

from dataclasses import dataclass, field

from sssd_chat.drafting import DraftTree

BINS = 20
"""Equal slices of the probabilities from 0 to 1."""


@dataclass(slots=True)
class ReliabilityBin:
    """The nodes whose probability fell into one slice."""

    count: int = 0
    predicted: float = 0.0
    """Sum of their probabilities."""
    accepted: int = 0
    """How many of them were accepted."""


@dataclass(slots=True)
class Calibration:
    """A reliability table, filled node by node."""

    bins: list[ReliabilityBin] = field(
        default_factory=lambda: [ReliabilityBin() for _ in range(BINS)]
    )
    """From the least to the most probable slice."""

    def add(self, probability: float, accepted: bool) -> None:
        """Counts one node."""
        place = self.bins[min(int(probability * BINS), BINS - 1)]
        place.count += 1
        place.predicted += probability
        place.accepted += accepted

    def add_step(self, tree: DraftTree, path: list[int]) -> None:
        """Counts all nodes of a verified draft; a node below a refused one was not accepted."""
        accepted = set(path)
        for node, probability in enumerate(tree.probabilities):
            self.add(probability, node in accepted)

    def expected_error(self) -> float:
        """The expected calibration error: the mean distance of predicted and accepted share over
        the slices, weighted by their nodes; 0 for an empty table."""
        nodes = sum(place.count for place in self.bins)
        distances = sum(abs(place.predicted - place.accepted) for place in self.bins)
        return distances / nodes if nodes else 0.0
