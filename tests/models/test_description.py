"""What is told about a model is what llama.cpp finds in it."""

from pathlib import Path

import pytest

from sssd_chat.llama.gguf import GgufHeader, MetadataValue, read_header
from sssd_chat.llama.kv_cache import CacheSettings
from sssd_chat.llama.model import Model
from sssd_chat.llama.shape import DraftShape
from sssd_chat.models.description import ModelDescription, describe
from tests.tiny_models import CHATML_TEMPLATE, Architecture, tiny_model


@pytest.mark.parametrize("architecture", Architecture)
def test_the_header_tells_what_llama_cpp_finds(models: Path, architecture: Architecture) -> None:
    path = tiny_model(models, architecture, context_length=1000, chat_template=CHATML_TEMPLATE)
    told = describe(read_header(path))
    model = Model(path)
    try:
        assert told.parameters == model.parameters
        assert told.trained_context == model.trained_context == 1000
        assert told.vocabulary_size == model.vocabulary.size
        assert (told.draft_shape is DraftShape.TREES) == model.can_roll_back
        assert told.title == model.name
        if architecture.can_roll_back:
            assert told.memory(100).context == model.context_bytes(100)
    finally:
        model.close()
    assert told.has_template
    assert told.unsuitable is None
    assert told.quantization == "F32"
    assert told.experts == (6 if architecture.has_experts else 0)
    assert told == ModelDescription.from_json(told.as_json())


def test_memory_of_the_starter_model_is_what_llama_cpp_asks_for() -> None:
    """llama.cpp makes a KV cache of 180 MiB and a working buffer of 166 MiB for its 8,192 tokens,
    and 12 MiB of logits."""
    from sssd_chat.models.starter import starter_model

    path = starter_model()
    need = describe(read_header(path)).memory(8192)
    assert need.weights == path.stat().st_size
    assert need.context == 180 * 2**20
    assert need.work == pytest.approx(178 * 2**20, rel=0.02)
    assert need.total == need.weights + need.context + need.work
    # With flash attention the buffer is one of 98 MiB, and a cache in eight bits of 96 MiB.
    small = describe(read_header(path)).memory(8192, CacheSettings("q8_0", "q8_0"))
    assert small.context == pytest.approx(95.6 * 2**20, rel=0.01)
    assert small.work == pytest.approx(110 * 2**20, rel=0.02)


def described(metadata: dict[str, MetadataValue], architecture: str = "x") -> ModelDescription:
    keys = {f"{architecture}.{key}" if "." not in key else key: v for key, v in metadata.items()}
    lengths = {"tokenizer.ggml.tokens": 10}
    header = GgufHeader(Path("m.gguf"), architecture, keys, lengths, 1, 1, 1, 1, 1, 1)
    return describe(header)


def test_layers_without_keys_take_no_cache() -> None:
    usual: dict[str, MetadataValue] = {
        "block_count": 4,
        "embedding_length": 64,
        "x.attention.head_count": 4,
        "x.attention.head_count_kv": 2,
    }
    full = described(usual).memory(1).context
    assert full == 4 * 2 * (16 + 16) * 2

    def with_keys(more: dict[str, MetadataValue]) -> int:
        return described(usual | more).memory(1).context

    assert with_keys({"x.attention.head_count_kv": (2, 0, 0, 2)}) == full // 2
    assert with_keys({"full_attention_interval": 4}) == full // 4
    assert with_keys({"x.attention.shared_kv_layers": 2}) == full // 2
    assert with_keys({"x.attention.key_length": 48}) == 2 * full
    # Keys and values in the same numbers are kept once.
    assert with_keys({"x.attention.key_length_mla": 8}) == full // 2
    del usual["x.attention.head_count_kv"]
    assert with_keys({}) == 2 * full
    # 256 numbers in blocks of 32: 34 bytes of keys, 18 of values.
    assert described(usual).memory(1, CacheSettings("q8_0", "q4_0")).context == 8 * (34 + 18)


@pytest.mark.parametrize(
    ("architecture", "key", "states"),
    [
        ("mamba", "ssm.state_size", 1),
        ("rwkv7", "wkv.head_size", 1),
        ("lfm2", "shortconv.l_cache", 9),
    ],
)
def test_a_recurrent_state_takes_the_same_at_any_context(
    architecture: str, key: str, states: int
) -> None:
    keys = {f"{architecture}.{key}": 4, "block_count": 2, "embedding_length": 8}
    model = described(keys | {f"{architecture}.ssm.inner_size": 8}, architecture)
    assert model.draft_shape is (DraftShape.NONE if states == 1 else DraftShape.CHAINS)
    assert model.memory(8).context == model.memory(800).context == model.state_bytes
    assert model.state_bytes % states == 0 < model.state_bytes


def test_odd_values_cost_that_value(models: Path) -> None:
    odd = described(
        {
            "block_count": "many",
            "embedding_length": -5,
            "x.attention.head_count": (),
            "x.attention.head_count_kv": (1.5, "a", 10**30),
            "general.license": 7,
            "general.name": "  ",
            "tokenizer.ggml.model": "gpt2",
        }
    )
    assert odd.licence is None and odd.title is None and odd.tokenizer == "gpt2"
    assert odd.layers == odd.key_numbers == odd.value_numbers == 0
    large = {"block_count": 10**18, "x.attention.head_count_kv": 2}
    assert described(large).memory(10).total > 0  # type: ignore[arg-type]


def test_the_licence_is_told_as_the_file_states_it() -> None:
    assert described({"general.license": "mit"}).licence == "mit"
    other = {"general.license": "other", "general.license.name": "some-licence"}
    assert described(other).licence == "some-licence"  # type: ignore[arg-type]
    assert described({}).licence is None


@pytest.mark.parametrize(
    ("metadata", "architecture", "words"),
    [
        ({}, "clip", "sees or hears"),
        ({"general.type": "mmproj"}, "x", "sees or hears"),
        ({"general.type": "adapter"}, "x", "adapter"),
        ({"general.type": "imatrix"}, "x", "measurements"),
        ({"pooling_type": 1}, "bert", "embedding model (bert)"),
        ({}, "t5", "encoder-decoder model (t5)"),
    ],
)
def test_what_cannot_chat_is_told(
    metadata: dict[str, MetadataValue], architecture: str, words: str
) -> None:
    assert words in (described(metadata, architecture).unsuitable or "")
