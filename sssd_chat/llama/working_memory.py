"""What a context needs besides its cache: an estimate, within a few percent for usual models."""

from __future__ import annotations

BATCH = 512
"""Tokens that the target reads at once; its working memory is made for so many."""
_OUTPUTS = 64
"""Rows of logits that are kept at once: one for each path through a tree."""
_NUMBER_BYTES = 4


def working_bytes(vocabulary: int, heads: int, width: int, context: int, has_flash: bool) -> int:
    """Bytes for a batch and for its logits, by the model's sizes and the tokens of context."""
    if has_flash:
        # No table of all pairs of tokens; what attention takes is free again for the logits.
        rows = max(vocabulary, context // 2 + 4 * width)
    else:
        rows = max(vocabulary, context * heads) + context + 4 * width
    return _NUMBER_BYTES * (BATCH * rows + _OUTPUTS * vocabulary)
