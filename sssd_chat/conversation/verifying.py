"""The outcome of answering with and without drafts, in words."""

from __future__ import annotations

from collections.abc import Sequence

from sssd_chat.generation.comparison import Comparison
from sssd_chat.generation.loading import LoadedEngine


def describe_comparison(result: Comparison, loaded: LoadedEngine) -> str:
    """The outcome in one line."""
    gain = f"{len(result.drafted)} tokens in {result.steps} steps"
    if result.is_identical:
        return f"identical, {gain}"
    place = result.first_difference or 0
    verdict = (
        f"a near-tie: the two runs round by {result.rounding:.4f} there"
        if result.is_explained
        else f"NOT explained by rounding: the logits differ by {result.rounding:.4f}, "
        f"and {result.tolerance:.4f} would be rounding"
    )
    with_drafts = _token(result.drafted, place, loaded)
    without = _token(result.plain, place, loaded)
    return (
        f"first difference at token {place + 1} of {gain}: {with_drafts} with drafts, "
        f"{without} without, logit gap {result.logit_gap:.4f}; {verdict}"
    )


def _token(tokens: Sequence[int], place: int, loaded: LoadedEngine) -> str:
    if place >= len(tokens):
        return "nothing more"
    piece = loaded.model.vocabulary.piece(tokens[place], special=True)
    return f"{tokens[place]} {piece.decode('utf-8', 'replace')!r}"
