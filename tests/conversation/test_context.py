"""The oldest turns leave the prompt when the context fills, and no more often than needed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.conversation.context import turns_left_out
from sssd_chat.generation.engine import PromptTooLong


@given(
    st.lists(st.integers(1, 400), max_size=30),
    st.integers(1, 1200),
    st.integers(64, 1000),
    st.one_of(st.none(), st.integers(1, 2000)),
    st.data(),
)
def test_the_prompt_fits_and_leaves_room(
    sizes: list[int], message: int, context: int, max_tokens: int | None, data: st.DataObject
) -> None:
    turns = len(sizes)
    already = data.draw(st.integers(0, turns))

    def size(left_out: int) -> int:
        return message + sum(sizes[left_out:])

    room = context // 4 if max_tokens is None else min(max_tokens, context // 4)
    try:
        left_out = turns_left_out(size, turns, already, context, max_tokens)
    except PromptTooLong as error:
        # Refused alone where nothing could help, and the sentence says by how much.
        excess = int(str(error).split(" is ")[1].split()[0].replace(",", ""))
        assert 0 < excess <= message - context + max(1, context // 32)
        return
    assert already <= left_out <= turns
    assert size(left_out) < context
    if left_out == turns:
        return
    assert size(left_out) <= context - room
    if left_out > already:
        # A block goes at once, and no turn more than that.
        assert size(left_out) <= context // 2 < size(left_out - 1)


def test_a_message_that_cannot_fit_says_by_how_much() -> None:
    with pytest.raises(PromptTooLong, match="212 tokens too long for the context of 800, 25 of"):
        turns_left_out(lambda _: 987, 0, 0, 800, None)
