"""Looking at the target's best tokens, for a drafter that learns from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from sssd_chat.drafting import DraftTree
from sssd_chat.generation.acceptance import Acceptance
from sssd_chat.llama.logprobs import TokenLogprob, token_logprob
from sssd_chat.llama.sampler import Logits, best_tokens

BestTokens = list[tuple[int, tuple[int, ...]]]
"""(node, the target's best tokens there, best first)."""

_REFUSED_SHARE = 0.002
"""Share of a plain step that may go into looking at refused nodes."""
_LOOK_SECONDS = 0.00015
"""Time of a look: a pass over the logits of a large vocabulary."""
_MOST_REFUSED = 2


class TokenSampler(Protocol):
    """What chooses the next token; see SamplerChain for each member."""

    @property
    def takes_best(self) -> bool:
        """Whether it is nothing but the most probable token."""

    def sample(self, logits: Logits) -> int:
        """The next token."""

    def accept(self, token: int) -> None:
        """A token that was emitted before."""

    def close(self) -> None:
        """Frees what it holds."""


class LookingSampler:
    """Samples, and keeps the best tokens of every place that was sampled."""

    def __init__(self, sampler: TokenSampler, wanted: int) -> None:
        """`wanted` is the number of best tokens; 0 for none."""
        self._sampler = sampler
        self._wanted = wanted
        self.best: list[tuple[int, ...]] = []

    def sample(self, logits: Logits) -> int:
        """See SamplerChain.sample. The best token is not looked for twice."""
        if self._wanted <= 0:
            return self._sampler.sample(logits)
        best = best_tokens(logits, self._wanted)
        self.best.append(best)
        return best[0] if self._sampler.takes_best else self._sampler.sample(logits)


class WatchedSampler:
    """A sampler chain that shows each place's logits to a watcher before it samples there."""

    takes_best = False
    """Each place is sampled through this object, or the watcher would see nothing."""

    def __init__(self, sampler: TokenSampler, watch: Callable[[Logits], None]) -> None:
        self._sampler = sampler
        self._watch = watch

    def sample(self, logits: Logits) -> int:
        """See SamplerChain.sample."""
        self._watch(logits)
        return self._sampler.sample(logits)

    def accept(self, token: int) -> None:
        """See SamplerChain.accept."""
        self._sampler.accept(token)

    def close(self) -> None:
        """See SamplerChain.close."""
        self._sampler.close()


class LogprobSampler:
    """A sampler chain that keeps how probable each token was that it gave."""

    takes_best = False
    """Each place is sampled through this object."""

    def __init__(self, sampler: TokenSampler, count: int) -> None:
        """`count` of the most probable tokens are kept with each."""
        self._sampler = sampler
        self._count = count
        self._kept: list[TokenLogprob] = []

    def sample(self, logits: Logits) -> int:
        """See SamplerChain.sample."""
        token = self._sampler.sample(logits)
        self._kept.append(token_logprob(logits, token, self._count))
        return token

    def take(self) -> tuple[TokenLogprob, ...]:
        """Those of the tokens given since the last call."""
        kept, self._kept = tuple(self._kept), []
        return kept

    def accept(self, token: int) -> None:
        """See SamplerChain.accept."""
        self._sampler.accept(token)

    def close(self) -> None:
        """See SamplerChain.close."""
        self._sampler.close()


def best_of_refused(
    tree: DraftTree,
    acceptance: Acceptance,
    logits: Callable[[int], Logits],
    wanted: int,
    plain_seconds: float | None,
) -> BestTokens:
    """The target's best tokens at refused nodes, of which a slow model affords a few."""
    if wanted <= 0 or plain_seconds is None:
        return []
    looks = min(_MOST_REFUSED, int(_REFUSED_SHARE * plain_seconds / _LOOK_SECONDS))
    if looks < 1:
        return []
    visited = set(acceptance.visited)
    refused = [node for node in range(len(tree)) if node not in visited]
    return [(node, best_tokens(logits(node), wanted)) for node in refused[:looks]]
