"""Prompt lookup against a plain search of the whole text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.bench.prompt_lookup import PromptLookupDrafter
from sssd_chat.drafting import DraftTree, ObservedStep

texts = st.lists(st.integers(0, 3), min_size=1, max_size=30)


def looked_up(text: list[int], longest: int, length: int) -> list[int]:
    """The search as a definition: longest suffix first, its first place first."""
    for size in range(min(longest, len(text)), 0, -1):
        for start in range(len(text) - size):
            if text[start : start + size] == text[-size:]:
                return text[start + size : start + size + length]
    return []


@given(texts, texts)
def test_it_finds_what_a_search_of_the_text_finds(prompt: list[int], answer: list[int]) -> None:
    drafter = PromptLookupDrafter()
    drafter.begin([9, 9, 9])
    drafter.begin(prompt)
    for done, token in enumerate(answer):
        assert drafter.draft(20).tokens == looked_up(prompt + answer[:done], 2, 10)
        drafter.observe(ObservedStep(DraftTree(), [], [token]))
    tree = drafter.draft(3)
    assert tree.tokens == looked_up(prompt + answer, 2, 3)
    assert tree.parents == list(range(-1, len(tree) - 1))
