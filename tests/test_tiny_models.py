"""The tiny models must load, vary, and depend on their whole context, or they test nothing."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
import pytest

from tests.tiny_models import (
    BEGIN,
    CHATML_TEMPLATE,
    END,
    FIRST_BYTE,
    LONGEST_SPACES,
    SLIDING_WINDOW,
    TURN_END,
    TURN_START,
    Architecture,
    tiny_model,
    vocabulary,
)

CONTEXT = 256

_silent = llama_cpp.llama_log_callback(lambda level, text, data: None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for the models of this module."""
    llama_cpp.llama_log_set(_silent, ctypes.c_void_p(0))
    llama_cpp.llama_backend_init()
    return tmp_path_factory.mktemp("tiny")


class Loaded:
    """A model and a context of the real llama.cpp, decoding one token after the other."""

    def __init__(self, model: Any, context: Any) -> None:
        self.model = model
        self.vocab = llama_cpp.llama_model_get_vocab(model)
        self.size = llama_cpp.llama_vocab_n_tokens(self.vocab)
        self._context = context
        self._position = 0

    def feed(self, token: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Decode one token; the logits that follow it."""
        batch = llama_cpp.llama_batch_init(1, 0, 1)
        batch.n_tokens = 1
        batch.token[0], batch.pos[0], batch.logits[0] = token, self._position, 1
        batch.n_seq_id[0], batch.seq_id[0][0] = 1, 0
        assert llama_cpp.llama_decode(self._context, batch) == 0
        llama_cpp.llama_batch_free(batch)
        self._position += 1
        return np.ctypeslib.as_array(llama_cpp.llama_get_logits(self._context), (self.size,)).copy()

    def greedy(self, prompt: list[int], count: int) -> list[int]:
        """The most likely continuation of a prompt, `count` tokens long."""
        for token in prompt:
            logits = self.feed(token)
        written: list[int] = []
        while len(written) < count:
            written.append(int(logits.argmax()))
            logits = self.feed(written[-1])
        return written

    def tokenize(self, text: str, special: bool = False) -> list[int]:
        """The token ids of a text, without a beginning mark."""
        data = text.encode()
        ids = (llama_cpp.llama_token * (len(data) + 2))()
        count = llama_cpp.llama_tokenize(self.vocab, data, len(data), ids, len(ids), False, special)
        return list(ids[:count])


@contextmanager
def loaded(path: Path) -> Iterator[Loaded]:
    """Load a model file with the real llama.cpp."""
    model = llama_cpp.llama_model_load_from_file(
        str(path).encode(), llama_cpp.llama_model_default_params()
    )
    assert model, f"llama.cpp refuses {path.name}"
    parameters = llama_cpp.llama_context_default_params()
    parameters.n_ctx = CONTEXT
    parameters.n_threads = parameters.n_threads_batch = 1
    parameters.swa_full = True
    context = llama_cpp.llama_init_from_model(model, parameters)
    assert context
    yield Loaded(model, context)
    llama_cpp.llama_free(context)
    llama_cpp.llama_model_free(model)


@pytest.mark.parametrize("architecture", Architecture)
def test_greedy_text_is_varied_and_depends_on_the_seed(
    folder: Path, architecture: Architecture
) -> None:
    texts = []
    for seed in (0, 1):
        with loaded(tiny_model(folder, architecture, seed=seed)) as model:
            texts.append(model.greedy([BEGIN, 300, 301, 302], 40))
    assert all(len(set(text)) > 10 for text in texts)
    assert texts[0] != texts[1]


@pytest.mark.parametrize("architecture", Architecture)
def test_every_part_of_the_context_counts(folder: Path, architecture: Architecture) -> None:
    """A wrong entry in the memory must move the logits by more than rounding, 0.05, does."""
    path = tiny_model(folder, architecture)
    random = np.random.default_rng(7)
    prompt = [BEGIN, *random.integers(FIRST_BYTE, len(vocabulary()), 39).tolist()]
    reach = (1, 4, 7) if architecture is Architecture.MAMBA else range(1, 39, 4)

    def last_logits(tokens: list[int]) -> np.ndarray[Any, np.dtype[np.float32]]:
        with loaded(path) as model:
            return [model.feed(token) for token in tokens][-1]

    reference = last_logits(prompt)
    for back in reach:
        changed = list(prompt)
        changed[-1 - back] = FIRST_BYTE + (changed[-1 - back] + 17) % 256
        assert np.abs(last_logits(changed) - reference).max() > 0.1, f"{back} tokens back"


@pytest.mark.parametrize("architecture", Architecture)
def test_llama_cpp_sees_the_kind_of_memory_that_the_name_promises(
    folder: Path, architecture: Architecture
) -> None:
    with loaded(tiny_model(folder, architecture, context_length=777)) as model:
        assert llama_cpp.llama_model_n_ctx_train(model.model) == 777
        recurrent = llama_cpp.llama_model_is_recurrent(model.model)
        hybrid = llama_cpp.llama_model_is_hybrid(model.model)
        assert recurrent == architecture.is_recurrent
        assert hybrid == architecture.is_hybrid
        assert architecture.can_roll_back == (not recurrent and not hybrid)
        window = llama_cpp.llama_model_n_swa(model.model)
        assert window == (SLIDING_WINDOW if architecture is Architecture.GEMMA3 else 0)


def test_model_ends_its_turn_only_when_told_that_it_may(folder: Path) -> None:
    ends = {END, TURN_END}
    seen = []
    for can_end in (False, True):
        written: set[int] = set()
        for seed in range(8):
            with loaded(tiny_model(folder, seed=seed, can_end=can_end)) as model:
                written.update(model.greedy([BEGIN, 300 + seed], 200))
        seen.append(bool(written & ends))
    assert seen == [False, True]


def test_vocabulary_holds_the_hard_cases(folder: Path) -> None:
    pieces = vocabulary()
    assert len(pieces) == len(set(pieces)) == 320
    with loaded(tiny_model(folder)) as model:
        assert model.size == 320

        def split(text: str) -> list[str]:
            return [pieces[token] for token in model.tokenize(text)]

        assert split("the thing") == ["the", "▁t", "h", "ing"]
        assert split("é世") == ["é", "世"]
        assert split("界") == ["<0xE7>", "<0x95>", "<0x8C>"]
        assert split("🙂") == ["<0xF0>", "<0x9F>", "<0x99>", "<0x82>"]
        assert split(" " * LONGEST_SPACES) == ["▁" * LONGEST_SPACES]
        marks = "<s></s><|im_start|><|im_end|>"
        assert model.tokenize(marks, special=True) == [BEGIN, END, TURN_START, TURN_END]
        assert not {BEGIN, END, TURN_START, TURN_END} & set(model.tokenize(marks))
        ends = [i for i in range(model.size) if llama_cpp.llama_vocab_is_eog(model.vocab, i)]
        assert ends == [END, TURN_END]


def test_other_words_make_another_vocabulary(folder: Path) -> None:
    with loaded(tiny_model(folder, words=("qu", "ou"))) as model:
        assert model.size == len(vocabulary(("qu", "ou"))) != len(vocabulary())
        assert model.tokenize("qu") == [vocabulary(("qu", "ou")).index("qu")]


@pytest.mark.parametrize("template", [None, CHATML_TEMPLATE])
def test_chat_template_is_there_when_asked_for(folder: Path, template: str | None) -> None:
    with loaded(tiny_model(folder, chat_template=template)) as model:
        found = llama_cpp.llama_model_chat_template(model.model, None)
        assert (found.decode() if found else None) == template


def test_same_arguments_give_the_same_bytes_and_one_file(tmp_path: Path) -> None:
    first, second = (tiny_model(tmp_path / name, seed=3) for name in "ab")
    assert first.read_bytes() == second.read_bytes()
    written = first.stat().st_mtime_ns
    assert tiny_model(tmp_path / "a", seed=3) == first
    assert first.stat().st_mtime_ns == written
    assert tiny_model(tmp_path / "a", seed=4) != first
    assert len(list((tmp_path / "a").iterdir())) == 2
