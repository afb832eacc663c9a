"""Prompt lookup as llama-cpp-python does it, for comparison."""

from __future__ import annotations

from collections.abc import Sequence

from sssd_chat.drafting import ROOT, DraftTree, ObservedStep


class PromptLookupDrafter:
    """Drafts the tokens that followed the first place where the text's last tokens stand.

    Same choices as llama-cpp-python's `LlamaPromptLookupDecoding`: the longest suffix of up to
    `longest` tokens that stands earlier in the text, its first occurrence, `length` tokens of
    what follows there.
    """

    best_tokens_wanted = 0

    def __init__(self, longest: int = 2, length: int = 10) -> None:
        """`longest` tokens of the suffix at most, `length` tokens of draft at most."""
        self._longest = longest
        self._length = length
        self._tokens: list[int] = []
        self._first: dict[tuple[int, ...], int] = {}
        """For each run of tokens, the place just after its first occurrence."""

    def begin(self, tokens: Sequence[int]) -> None:
        """See Drafter."""
        self._tokens = []
        self._first = {}
        self._extend(tokens)

    def draft(
        self,
        budget: int,
        floor: float = 0.0,
        *,
        branches: bool = True,
        depth: int | None = None,
    ) -> DraftTree:
        """See Drafter. The probabilities are 1, for the method has none."""
        tree = DraftTree()
        most = min(self._length, budget if depth is None else min(budget, depth))
        for length in range(min(self._longest, len(self._tokens)), 0, -1):
            start = self._first[tuple(self._tokens[-length:])]
            if start < len(self._tokens):
                parent = ROOT
                for token in self._tokens[start : start + most]:
                    parent = tree.add(token, parent, 1.0, "prompt lookup")
                break
        return tree

    def observe(self, step: ObservedStep) -> None:
        """See Drafter."""
        self._extend(step.emitted)

    def _extend(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            self._tokens.append(token)
            end = len(self._tokens)
            for length in range(1, min(self._longest, end) + 1):
                self._first.setdefault(tuple(self._tokens[end - length :]), end)
