"""What a context needs besides its cache: an estimate, within a few percent for usual models."""

from __future__ import annotations

BATCH = 512
"""Tokens that the target reads at once; its working memory is made for so many."""
_OUTPUTS = 64
"""Rows of logits that are kept at once: one for each path through a tree."""
_NUMBER_BYTES = 4


def working_bytes(vocabulary: int, heads: int, width: int, context: int, has_flash: bool) -> int:
    """Bytes for a batch and for its logits, by the model's sizes and the tokens of context. Flash
    attention needs no table of all pairs of tokens."""
    rows = max(vocabulary, 0 if has_flash else context * heads)
    return _NUMBER_BYTES * (BATCH * (rows + context + 4 * width) + _OUTPUTS * vocabulary)
