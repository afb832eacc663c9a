"""Which drafted tokens are kept.

Lossless for greedy decoding and for sampling alike: every emitted token is what the ordinary
sampler chain returns on the target's logits given the true prefix. A draft can only spare passes
of the model, never change what is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sssd_chat.drafting import ROOT, DraftTree
from sssd_chat.generation.statistics import Count
from sssd_chat.llama.sampler import Logits


@dataclass(slots=True)
class Acceptance:
    """What one verified tree gave."""

    emitted: list[int] = field(default_factory=list)
    path: list[int] = field(default_factory=list)
    """Drafted nodes whose tokens were emitted, root's child first."""
    visited: list[int] = field(default_factory=list)
    """The nodes whose logits were sampled, ROOT first."""
    tested: int = 0
    by_source: dict[str, Count] = field(default_factory=dict)
    by_depth: dict[int, Count] = field(default_factory=dict)

    @property
    def committed(self) -> list[int]:
        """The nodes to keep in the cache: those of all emitted tokens but the last, which is the
        next step's root."""
        return self.path[: len(self.emitted) - 1]


def accept(
    tree: DraftTree,
    logits: Callable[[int], Logits],
    sample: Callable[[Logits], int],
    ends: Callable[[int], bool],
) -> Acceptance:
    """Walks down the tree as long as the target agrees.

    `logits(node)` are the target's at a node, `sample` draws one token and counts it as emitted,
    `ends(token)` is told of each emitted token in order and says whether the answer ends there.
    At least one token is emitted.
    """
    children: dict[int, dict[int, int]] = {}
    for node, (token, parent) in enumerate(zip(tree.tokens, tree.parents, strict=True)):
        children.setdefault(parent, {})[token] = node
    result = Acceptance()
    node = ROOT
    while True:
        result.visited.append(node)
        token = sample(logits(node))
        result.emitted.append(token)
        child = children.get(node, {}).get(token)
        if child is not None:
            result.path.append(child)
        if ends(token) or child is None:
            break
        node = child
    _count(tree, children, result)
    return result


def _count(tree: DraftTree, children: dict[int, dict[int, int]], result: Acceptance) -> None:
    """A node was tested when the logits of its parent were sampled."""
    if not tree.tokens:
        return
    accepted = set(result.path)
    depths = tree.depths()
    for node, origin in enumerate(tree.origins):
        for count in (
            result.by_source.setdefault(origin, Count()),
            result.by_depth.setdefault(depths[node], Count()),
        ):
            count.drafted += 1
    for parent in result.visited:
        for node in children.get(parent, {}).values():
            result.tested += 1
            for count in (
                result.by_source[tree.origins[node]],
                result.by_depth[depths[node]],
            ):
                count.tested += 1
                count.accepted += node in accepted
