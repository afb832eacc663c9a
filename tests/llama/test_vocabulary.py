from __future__ import annotations

import random

import numpy as np
import pytest

from sssd_chat.llama.vocabulary import PieceDecoder, Vocabulary
from tests.conftest import LoadTiny
from tests.tiny_models import BEGIN, END, LONGEST_SPACES, TURN_END, TURN_START


@pytest.fixture
def vocabulary(load_tiny: LoadTiny) -> Vocabulary:
    return load_tiny().model.vocabulary


def random_text(rng: random.Random) -> str:
    pools = ["abc the ing ", " \n\t", "é世界🙂", "\x00\x01\x7f\u2028", "<|im_end|></s><s>"]
    return "".join(rng.choice(rng.choice(pools)) for _ in range(rng.randrange(60)))


def test_any_text_comes_back_byte_for_byte(vocabulary: Vocabulary) -> None:
    rng = random.Random(1)
    for _ in range(400):
        text = random_text(rng)
        assert vocabulary.detokenize(vocabulary.tokenize(text)) == text.encode()


def test_typed_control_forms_stay_text(vocabulary: Vocabulary) -> None:
    typed = "<|im_start|>user<|im_end|></s><s>"
    tokens = vocabulary.tokenize(typed)
    assert not {TURN_START, TURN_END, BEGIN, END} & set(tokens)
    assert {TURN_START, TURN_END} <= set(vocabulary.tokenize(typed, special=True))


def test_a_token_of_64_spaces_survives(vocabulary: Vocabulary) -> None:
    assert vocabulary.piece(267) == b" " * LONGEST_SPACES
    assert vocabulary.detokenize(vocabulary.tokenize(" " * 200)) == b" " * 200


def test_lone_surrogates_become_replacement_characters(vocabulary: Vocabulary) -> None:
    tokens = vocabulary.tokenize("a\ud800b")
    assert vocabulary.detokenize(tokens).decode() == "a\ufffdb"
    assert vocabulary.detokenize(vocabulary.tokenize("\ud83d\ude42")).decode() == "🙂"


def test_control_tokens_are_empty_unless_asked_for(vocabulary: Vocabulary) -> None:
    assert vocabulary.piece(TURN_END) == b""
    assert vocabulary.piece(TURN_END, special=True) == b"<|im_end|>"
    assert vocabulary.is_end_of_generation(TURN_END)
    assert vocabulary.is_end_of_generation(END)
    assert not vocabulary.is_end_of_generation(TURN_START)
    assert {END, TURN_END} <= vocabulary.ends()
    assert all(map(vocabulary.is_end_of_generation, vocabulary.ends()))
    assert TURN_START not in vocabulary.ends()


@pytest.mark.parametrize("token", [-1, 10**9])
def test_a_token_outside_is_refused(vocabulary: Vocabulary, token: int) -> None:
    with pytest.raises(ValueError, match="not in a vocabulary"):
        vocabulary.piece(token)


def test_control_forms_are_found(vocabulary: Vocabulary) -> None:
    assert vocabulary.control_texts("plain text") == []
    assert set(vocabulary.control_texts("a<|im_end|>b</s>")) == {"<|im_end|>", "</s>"}


def test_the_fingerprint_tells_vocabularies_apart(load_tiny: LoadTiny) -> None:
    first = load_tiny().model.vocabulary.fingerprint
    other_weights = load_tiny(seed=1).model.vocabulary.fingerprint
    other_words = load_tiny(words=("alpha", "beta")).model.vocabulary.fingerprint
    assert first == other_weights
    assert first != other_words
    assert len(first) == 16


def test_text_appears_as_soon_as_it_is_complete_and_not_before() -> None:
    rng = random.Random(2)
    for _ in range(200):
        text = random_text(rng)
        data = text.encode()
        decoder = PieceDecoder()
        result = ""
        start = 0
        while start < len(data):
            size = rng.randrange(1, 4)
            result += decoder.feed(data[start : start + size])
            start += size
            assert text.startswith(result)
            assert len(data[:start]) - len(result.encode()) < 4
        assert result + decoder.finish() == text


def test_an_unfinished_character_is_replaced_at_the_end() -> None:
    decoder = PieceDecoder()
    assert decoder.feed("🙂".encode()[:3]) == ""
    assert decoder.finish() == "\ufffd"


def test_an_array_holds_the_same_tokens(vocabulary: Vocabulary) -> None:
    rng = random.Random(3)
    for text in ["", *(random_text(rng) for _ in range(50))]:
        (tokens,) = vocabulary.tokenize_arrays([text])
        assert tokens.dtype == np.uint32
        assert tokens.tolist() == vocabulary.tokenize(text)
