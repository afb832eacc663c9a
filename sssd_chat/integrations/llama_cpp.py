"""Drafts for llama-cpp-python: pass a `SSSDDraftModel` as `draft_model=` to its `Llama`."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from llama_cpp import llama_cpp as library
from llama_cpp.llama_speculative import LlamaDraftModel

from sssd_chat import paths
from sssd_chat.datastore.reader import DatastoreReader
from sssd_chat.drafting import ROOT, DraftTree, Experience, ObservedStep, SssdDrafter
from sssd_chat.drafting.sources.stored import StoredSource
from sssd_chat.generation.cost import StepCost
from sssd_chat.generation.plan import Limits, plan_drafts

_SEARCHED = 2
"""Nodes of the tree for each token of the draft; the rest are branches that it passes by."""

_SHORTEST = 1e-9
"""Seconds; a clock that stands still is no step for nothing."""


class SSSDDraftModel(LlamaDraftModel):  # type: ignore[misc]
    """Linear drafts from the conversation and, if there is one, a datastore.

    It is asked for a draft before each step. From what the text has become since the last time it
    learns which guesses were right, and from the time that passed what steps cost, so that it
    drafts only as much as pays. For one `Llama` at a time.
    """

    def __init__(
        self,
        most_tokens: int = 24,
        *,
        datastore: Path | None = None,
        experience: Experience | None = None,
        ends: Collection[int] = (),
    ) -> None:
        """`most_tokens` is the length of the longest draft. `datastore` is the folder of an index
        of the model's vocabulary (see `for_model`); it is only read. `experience` is what earlier
        conversations with the same model taught; see its `load` and `save`. `ends` are the tokens
        that end an answer: no draft goes on behind one. Raises ValueError when `most_tokens` is
        less than 1."""
        if most_tokens < 1:
            raise ValueError(f"a draft of at most {most_tokens} tokens is none")
        self._most = most_tokens
        self._reader = None if datastore is None else DatastoreReader(datastore)
        source = None if self._reader is None else StoredSource(self._reader)
        self._drafter = SssdDrafter(experience, source, frozenset(ends).__contains__)
        self._cost = StepCost(most_tokens + 1)
        self._text: npt.NDArray[np.intc] = np.empty(0, np.intc)
        self._tree = DraftTree()
        self._chain: list[int] = []
        """Nodes of the tree that were sent, the root's child first."""
        self._sent_at = 0.0

    @classmethod
    def for_model(cls, path: str | os.PathLike[str], most_tokens: int = 24) -> SSSDDraftModel:
        """One that also draws on what sssd-chat keeps for the vocabulary of this model file: the
        answers of earlier chats, imported documents and starter collections. Raises UserError when
        the file is not a whole model."""
        from sssd_chat.llama.model import open_vocabulary

        try:
            with open_vocabulary(Path(path)) as vocabulary:
                fingerprint = vocabulary.fingerprint
                ends = vocabulary.ends()
        finally:
            _give_log_back()
        return cls(most_tokens, datastore=paths.datastore_folder() / fingerprint, ends=ends)

    def __call__(self, input_ids: npt.NDArray[np.intc], /, **kwargs: Any) -> npt.NDArray[np.intc]:
        """Tokens that may follow `input_ids`, none when no guess pays."""
        now = time.perf_counter()
        known = len(self._text)
        if 0 < known < len(input_ids) and np.array_equal(input_ids[:known], self._text):
            self._learn(input_ids[known:].tolist(), now)
        else:
            if self._reader is not None:
                self._reader.refresh()
            self._drafter.begin(input_ids.tolist())
        self._text = np.array(input_ids, np.intc)
        draft = self._draft()
        self._sent_at = time.perf_counter()
        return draft

    def _learn(self, emitted: list[int], now: float) -> None:
        """What a step showed: the text went on with `emitted`."""
        accepted = 0
        for node, token in zip(self._chain, emitted, strict=False):
            if self._tree.tokens[node] != token:
                break
            accepted += 1
        seconds = max(now - self._sent_at, _SHORTEST)
        self._cost.observe(1 + len(self._chain), len(self._text), seconds)
        self._drafter.observe(ObservedStep(self._tree, self._chain[:accepted], emitted))

    def _draft(self) -> npt.NDArray[np.intc]:
        context = len(self._text)
        floor = self._cost.floor(context)
        self._tree = self._drafter.draft(_SEARCHED * self._most, floor)
        nodes = _best_path(self._tree)[: self._most]
        chain = DraftTree()
        for depth, node in enumerate(nodes):
            chain.add(
                self._tree.tokens[node],
                depth - 1 if depth else ROOT,
                self._tree.probabilities[node],
                self._tree.origins[node],
            )
        (planned,) = plan_drafts([chain], self._cost.seconds(context), Limits(0, len(chain)))
        self._chain = nodes[: len(planned)]
        return np.array(planned.tokens, np.intc)


def _best_path(tree: DraftTree) -> list[int]:
    """From the root always to the likeliest child, as far as the tree goes."""
    path: list[int] = []
    end = ROOT
    # Children come after their parents, and of siblings the likeliest first.
    for node, parent in enumerate(tree.parents):
        if parent == end:
            path.append(node)
            end = node
    return path


def _give_log_back() -> None:
    """llama.cpp has one place for its log, and the program around belongs to somebody else."""
    from llama_cpp._logger import llama_log_callback

    library.llama_log_set(llama_log_callback, None)
