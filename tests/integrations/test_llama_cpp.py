"""The drafter inside llama-cpp-python's own `Llama`: the same text, and fewer steps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from llama_cpp import Llama

from sssd_chat import paths
from sssd_chat.datastore.document import Document
from sssd_chat.datastore.store import Datastore
from sssd_chat.drafting import Experience
from sssd_chat.integrations import llama_cpp as integration
from sssd_chat.integrations.llama_cpp import SSSDDraftModel
from sssd_chat.llama.model import open_vocabulary
from tests.tiny_models import tiny_model

PROMPT = "the cat and the dog and the cat and the dog and the cat and "
LENGTH = 60


class Watched(SSSDDraftModel):
    """Remembers what it was asked and what it answered."""

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self.drafts: list[list[int]] = []

    def __call__(self, input_ids: np.ndarray, /, **kwargs: object) -> np.ndarray:
        draft = super().__call__(input_ids, **kwargs)
        assert draft.dtype == np.intc
        self.drafts.append(draft.tolist())
        return draft


def llama(path: Path, draft_model: SSSDDraftModel | None = None) -> Llama:
    return Llama(
        str(path), n_ctx=512, n_threads=1, n_threads_batch=1, verbose=False, draft_model=draft_model
    )


def greedy(model: Llama, prompt: str = PROMPT, length: int = LENGTH) -> list[int]:
    tokens: list[int] = []
    for token in model.generate(model.tokenize(prompt.encode()), temp=0.0, top_k=1):
        tokens.append(token)
        if len(tokens) == length:
            break
    return tokens


@pytest.fixture(scope="module")
def path(models: Path) -> Path:
    return tiny_model(models, seed=5)


@pytest.fixture(scope="module")
def plain(path: Path) -> Iterator[list[int]]:
    model = llama(path)
    yield greedy(model)
    model.close()


@pytest.fixture(autouse=True)
def even_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step takes the same time, as on a machine on which a batch costs no more than a token:
    so drafts are sent, however busy the machine of the test."""
    clock = SimpleNamespace(perf_counter=itertools.count(1).__next__)
    monkeypatch.setattr(integration, "time", clock)


def test_greedy_text_is_the_same_in_fewer_steps(path: Path, plain: list[int]) -> None:
    drafts = Watched(8)
    model, undrafted = llama(path, drafts), llama(path)
    try:
        assert greedy(model) == plain
        # The answer again, as part of the prompt: what follows is a copy at times.
        again = undrafted.detokenize(plain).decode("utf-8", "replace")
        prompt = f"{PROMPT}{again}{PROMPT}"
        steps = len(drafts.drafts)
        assert greedy(model, prompt) == greedy(undrafted, prompt)
        assert len(drafts.drafts) - steps < LENGTH
        assert any(drafts.drafts)
    finally:
        model.close()
        undrafted.close()


def test_a_sure_copy_takes_few_steps() -> None:
    """Against a target that repeats a text."""
    text = [int(token) for token in np.random.default_rng(1).integers(5, 300, 80)]
    told = text + text
    drafts = Watched(16)
    have, steps = 90, 0
    while have < len(told):
        draft = drafts(np.array(told[:have], np.intc)).tolist()
        right = 0
        while (
            right < len(draft) and have + right < len(told) and draft[right] == told[have + right]
        ):
            right += 1
        have += right + 1
        steps += 1
    assert steps < 40
    assert max(map(len, drafts.drafts)) <= 16


def test_another_text_begins_anew(path: Path) -> None:
    drafts = Watched(4)
    for text in ([1, 2, 3, 4], [7, 8], [7], [7, 8, 9, 10, 11], [1, 2, 3]):
        drafts(np.array(text, np.intc))
    assert drafts._drafter._conversation.tokens == [1, 2, 3]


def test_the_datastore_of_the_vocabulary_is_read(path: Path, plain: list[int]) -> None:
    with open_vocabulary(path) as vocabulary:
        fingerprint = vocabulary.fingerprint
    store = Datastore(paths.datastore_folder() / fingerprint)
    store.add("chats", Document.of("1", plain))
    store.seal()
    store.close()
    drafts = SSSDDraftModel.for_model(path, 8)
    text = np.array([3, *plain[:10]], np.intc)
    assert drafts(text).tolist()[:1] == [plain[10]]
    store = Datastore(paths.datastore_folder() / fingerprint)
    assert store.is_writer
    store.forget_everything()
    store.close()
    drafts(np.array([5, 6], np.intc))
    assert drafts._reader is not None and len(drafts._reader.snapshot) == 0


def test_experience_may_be_shared_and_kept(tmp_path: Path) -> None:
    experience = Experience()
    first = SSSDDraftModel(4, experience=experience)
    for end in range(3, 40):
        first(np.array([token % 7 for token in range(end)], np.intc))
    experience.save(tmp_path / "kept")
    loaded, problem = Experience.load(tmp_path / "kept")
    assert problem is None
    SSSDDraftModel(4, experience=loaded)(np.array([1, 2], np.intc))


def test_a_draft_of_no_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match="none"):
        SSSDDraftModel(0)
