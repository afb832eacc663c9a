"""Long texts come out as they do from llama.cpp in one call."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sssd_chat.llama import long_text
from sssd_chat.llama.long_text import LongTextTokenizer
from sssd_chat.llama.model import open_vocabulary
from sssd_chat.llama.vocabulary import Vocabulary
from sssd_chat.models.starter import starter_model

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def vocabulary() -> Iterator[Vocabulary]:
    path = starter_model()
    assert path is not None
    with open_vocabulary(path) as opened:
        yield opened


@pytest.fixture
def tokenizer(vocabulary: Vocabulary) -> LongTextTokenizer:
    return made(vocabulary)


def made(vocabulary: Vocabulary, marks: tuple[bytes, ...] = ()) -> LongTextTokenizer:
    def length_of(token: int) -> int:
        return len(vocabulary.piece(token))

    return LongTextTokenizer(vocabulary._tokenize, length_of, list(marks))


def odd_text(rng: random.Random) -> str:
    """Words, and what stands between them in no ordinary text."""
    between = [
        " ",
        "  ",
        "\n",
        "\n    ",
        "\t",
        "'",
        "’s ",
        "é",
        "世界 ",
        "🙂",
        "_",
        "(",
        ".\n\n",
        "1",
        "",
    ]
    words = ["the", "self", "don", "it's", "naïve", "x", "HTTPServer", "ß", "don't", "re"]
    return "".join(rng.choice(words) + rng.choice(between) for _ in range(rng.randrange(1, 900)))


def test_code_and_prose(vocabulary: Vocabulary, tokenizer: LongTextTokenizer) -> None:
    for path in [*(ROOT / "sssd_chat" / "drafting").glob("*.py"), ROOT / "README.md"]:
        data = path.read_bytes()
        assert np.array_equal(tokenizer.tokenize([data])[0], vocabulary._tokenize(data)), path
    assert tokenizer._known


def test_odd_texts(vocabulary: Vocabulary, tokenizer: LongTextTokenizer) -> None:
    rng = random.Random(1)
    for _ in range(60):
        data = odd_text(rng).encode()
        assert np.array_equal(tokenizer.tokenize([data])[0], vocabulary._tokenize(data)), data


def test_text_in_any_script_and_any_garbage(
    vocabulary: Vocabulary, tokenizer: LongTextTokenizer
) -> None:
    rng = random.Random(2)
    garbage = bytes(rng.randrange(1, 256) for _ in range(4000)).decode("utf-8", "replace")
    for text in (
        "Ärger übers Öl. " * 200,
        "日本語の文 " * 300,
        garbage,
        " " * 5000,
        "a" * 5000,
        "\n" * 3000,
    ):
        data = text.encode()
        assert np.array_equal(tokenizer.tokenize([data])[0], vocabulary._tokenize(data))


def test_little_memory_forgets_and_goes_on(
    vocabulary: Vocabulary, tokenizer: LongTextTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_text, "_MOST_PIECES", 50)
    monkeypatch.setattr(long_text, "_BLOCK", 7)
    rng = random.Random(3)
    for _ in range(5):
        data = odd_text(rng).encode()
        assert np.array_equal(tokenizer.tokenize([data])[0], vocabulary._tokenize(data))


def test_a_text_with_a_mark_is_left_whole(vocabulary: Vocabulary) -> None:
    tokenizer = made(vocabulary, marks=(b"<tool_call>",))
    tokenizer.tokenize([b"look at this <tool_call> here " * 100])
    assert not tokenizer._known
    tokenizer.tokenize([b"look at this tool call here " * 100])
    assert tokenizer._known


def test_a_vocabulary_of_other_words_gets_its_texts_whole() -> None:
    def whole_lines(data: bytes) -> np.ndarray:
        calls.append(len(data))
        return np.array([hash(line) & 0xFFFF for line in data.split(b"\n")], np.int32)

    calls: list[int] = []
    tokenizer = LongTextTokenizer(whole_lines, lambda _: 5, [])
    data = b"some words in a line\n" * 50
    for _ in range(20):
        assert np.array_equal(tokenizer.tokenize([data])[0], whole_lines(data))
    calls.clear()
    tokenizer.tokenize([data])
    assert calls == [len(data)]


def test_any_thread_may_tokenize(vocabulary: Vocabulary) -> None:
    from concurrent.futures import ThreadPoolExecutor

    text = (ROOT / "README.md").read_text()
    with ThreadPoolExecutor(3) as threads:
        results = list(threads.map(vocabulary.tokenize_arrays, [[text, "short"]] * 12))
    expected = [vocabulary.tokenize(text), vocabulary.tokenize("short")]
    assert all([array.tolist() for array in result] == expected for result in results)


def test_many_texts_at_once(vocabulary: Vocabulary) -> None:
    rng = random.Random(4)
    texts = ["", "x", *(odd_text(rng).encode() for _ in range(40)), "<tool_call> here", ""]
    data = [text.encode() if isinstance(text, str) else text for text in texts]
    tokenizer = made(vocabulary, marks=(b"<tool_call>",))
    for found, text in zip(tokenizer.tokenize(data), data, strict=True):
        assert np.array_equal(found, vocabulary._tokenize(text))
    assert tokenizer.tokenize([]) == []
