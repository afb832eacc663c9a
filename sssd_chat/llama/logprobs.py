"""How probable the target thought the tokens that were emitted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sssd_chat.llama.sampler import Logits, best_tokens


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """An emitted token with its natural logarithm of probability, before any sampler: the
    log-softmax of the target's logits."""

    token: int
    logprob: float
    top: tuple[tuple[int, float], ...] = ()
    """The most probable tokens with theirs, best first, as many as were asked for."""


def token_logprob(logits: Logits, token: int, count: int) -> TokenLogprob:
    """That of `token`, and of the `count` best ones."""
    highest = float(logits.max())
    whole = highest + float(np.log(np.exp(logits - highest).sum(dtype=np.float64)))
    top = tuple((best, float(logits[best]) - whole) for best in best_tokens(logits, count))
    return TokenLogprob(token, float(logits[token]) - whole, top)
