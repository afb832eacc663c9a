"""Which turns of a chat are in the prompt when the context fills."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from sssd_chat.generation.engine import PromptTooLong
from sssd_chat.text import counted

_ANSWER_SHARE = 4
_LEAST_ANSWER_SHARE = 32
_KEPT_SHARE = 2


def turns_left_out(
    size: Callable[[int], int],
    turns: int,
    already: int,
    context_length: int,
    max_tokens: int | None,
) -> int:
    """How many of the oldest turns (questions with their answers) a prompt goes without.

    `size(n)` is the number of tokens of the prompt without the first n of the `turns`; `already`
    are left out since earlier. A quarter of the context, or `max_tokens` if that is less, is kept
    for the answer. When turns must go, they go until half of the context is free: what comes after
    them has to be read again, and that should be rare.

    Raises PromptTooLong when the message does not fit without any turns.
    """
    room = context_length // _ANSWER_SHARE
    room = room if max_tokens is None else min(room, max_tokens)
    if size(already) <= context_length - room:
        return already
    least = max(1, min(room, context_length // _LEAST_ANSWER_SHARE))
    excess = size(turns) - (context_length - least)
    if excess > 0:
        raise PromptTooLong(
            f"The message is {counted(excess, 'token')} too long for the "
            f"context of {context_length:,}, {least:,} of which are kept for the answer: shorten "
            "it, or use a larger --ctx."
        )
    kept = context_length // _KEPT_SHARE
    candidates = range(already, turns)
    # Fewer turns are fewer tokens, so the first that fits can be searched for by halves.
    return already + bisect_left(candidates, True, key=lambda left_out: size(left_out) <= kept)
