"""Files that are no chat models are refused by name of the reason, before anything is loaded."""

from __future__ import annotations

from pathlib import Path

import gguf
import pytest

from sssd_chat.errors import UserError
from sssd_chat.llama.chat_ability import why_no_chat
from sssd_chat.llama.gguf import GgufHeader, MetadataValue, read_header
from sssd_chat.llama.model import Model
from tests.cli.running import run
from tests.odd_files import odd_file
from tests.tiny_models import Architecture, tiny_model


def header(
    architecture: str, metadata: dict[str, MetadataValue] | None = None, tensors: int = 100
) -> GgufHeader:
    keys = {
        key if key.startswith("general.") else f"{architecture}.{key}": value
        for key, value in (metadata or {}).items()
    }
    lengths = {"tokenizer.ggml.tokens": 10}
    return GgufHeader(Path("m.gguf"), architecture, keys, lengths, tensors, 1, 1, 1, 1, 1)


@pytest.mark.parametrize(
    ("architecture", "metadata", "reason"),
    [
        ("clip", {}, "sees or hears"),
        ("qwen2vl", {"general.type": "mmproj"}, "sees or hears"),
        ("llama", {"general.type": "adapter"}, "adapter (LoRA)"),
        ("llama", {"general.type": "imatrix"}, "measurements"),
        ("controlvector", {}, "control vector"),
        ("bert", {}, "embedding model (bert)"),
        ("nomic-bert", {"pooling_type": 1}, "embedding model (nomic-bert)"),
        ("qwen3", {"pooling_type": 3}, "embedding model (qwen3)"),
        ("lfm2", {"attention.causal": False}, "embedding model (lfm2)"),
        ("bert", {"pooling_type": 4}, "reranker (bert)"),
        ("qwen3", {"pooling_type": 4}, "reranker (qwen3)"),
        ("t5", {}, "encoder-decoder model (t5)"),
        ("t5encoder", {}, "embedding model (t5encoder)"),
        ("llada", {}, "diffusion model (llada)"),
        ("wavtokenizer-dec", {}, "speech model (wavtokenizer-dec)"),
        ("eagle3", {}, "draft head (eagle3)"),
    ],
)
def test_the_reason_is_told(
    architecture: str, metadata: dict[str, MetadataValue], reason: str
) -> None:
    why = why_no_chat(header(architecture, metadata))
    assert why is not None
    assert reason in why
    assert why.endswith(": choose a chat model")


def test_a_head_alone_is_no_model() -> None:
    keys: dict[str, MetadataValue] = {"block_count": 33, "nextn_predict_layers": 1}
    assert "draft head" in (why_no_chat(header("qwen35", keys, tensors=18)) or "")
    assert why_no_chat(header("qwen35", keys, tensors=430)) is None


@pytest.mark.parametrize("architecture", Architecture)
def test_a_chat_model_is_not_refused(models: Path, architecture: Architecture) -> None:
    assert why_no_chat(read_header(tiny_model(models, architecture))) is None


@pytest.mark.parametrize(("architecture", "kind"), [("bert", None), ("llama", "adapter")])
def test_every_command_says_the_same_sentence(
    tmp_path: Path, architecture: str, kind: str | None
) -> None:
    path = odd_file(tmp_path / "odd.gguf", architecture, kind)
    sentence = f"odd.gguf {why_no_chat(read_header(path))}."
    with pytest.raises(UserError) as error:
        Model(path)
    assert str(error.value) == sentence
    asked = run("ask", "hi", "--model", str(path))
    assert asked.returncode == 1
    assert asked.stderr.strip().endswith(sentence)
    assert "Traceback" not in asked.stderr


def test_what_only_llama_cpp_knows_is_refused_after_loading(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import llama_cpp.llama_cpp as lib

    monkeypatch.setattr(lib, "llama_model_is_diffusion", lambda _: True)
    with pytest.raises(UserError, match="diffusion model"):
        Model(tiny_model(models))


def test_a_vocabulary_alone_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "vocab.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_token_list(["a", "b"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(UserError, match="a vocabulary, but no weights"):
        read_header(path)
