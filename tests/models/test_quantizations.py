"""A sensible file is taken when none is named, and the named one when one is."""

import pytest

from sssd_chat.errors import UserError
from sssd_chat.models.hub import split_name
from sssd_chat.models.quantizations import RemoteFile, choose, offers

MEMORY = 16_000_000_000


def files(**sizes: int) -> list[RemoteFile]:
    """By quantization, in billions of bytes."""
    return [RemoteFile(f"Model-7B-{q}.gguf", size * 10**9, None) for q, size in sizes.items()]


def chosen(available: list[RemoteFile], wanted: str | None = None, memory: int = MEMORY) -> str:
    return choose("org/m", offers(available), wanted, memory).offer.files[0].name


def test_the_usual_choice_is_q4_k_m() -> None:
    usual = files(Q2_K=2, Q4_0=4, Q4_K_M=4, Q8_0=8, F16=14)
    choice = choose("org/m", offers(usual), None, MEMORY)
    assert choice.offer.quantization == "Q4_K_M"
    assert choice.why == "small, close to the original, and fast at checking drafts"
    assert chosen(files(Q8_0=8, F16=14, Q2_K=2)) == "Model-7B-Q8_0.gguf"
    assert chosen(files(F16=12, Q2_K=2)) == "Model-7B-F16.gguf"


def test_what_does_not_fit_into_memory_is_not_chosen_but_may_be_asked_for() -> None:
    large = files(Q4_K_M=40, Q3_K_M=12, Q2_K=8)
    assert chosen(large) == "Model-7B-Q3_K_M.gguf"
    assert chosen(large, "q4_k_m") == "Model-7B-Q4_K_M.gguf"
    with pytest.raises(UserError, match=r"No model of org/m fits into 1\.0 GB .*: Q2_K, Q3_K_M"):
        chosen(large, memory=10**9)


def test_names_of_all_fashions_are_read() -> None:
    names = {
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf": "Q4_K_M",
        "Llama-3.2-1B-Instruct-UD-Q4_K_XL.gguf": "Q4_K_XL",
        "gemma-3-4b-it.IQ4_XS.gguf": "IQ4_XS",
        "gpt-oss-20b-mxfp4.gguf": "MXFP4",
        "BF16/big-00001-of-00001.gguf": "BF16",
        "ggml-model-f16.gguf": "F16",
        "plain.gguf": None,
    }
    for name, label in names.items():
        (offer,) = offers([RemoteFile(name, 1, None)])
        assert offer.quantization == label, name


def test_parts_make_one_offer_and_helpers_none() -> None:
    found = offers(
        [
            *(RemoteFile(f"a-Q8_0-0000{n}-of-00002.gguf", 3, None) for n in (2, 1)),
            RemoteFile("b-Q4_0-00001-of-00002.gguf", 3, None),
            RemoteFile("mmproj-model-f16.gguf", 3, None),
            RemoteFile("imatrix.gguf", 3, None),
            RemoteFile("my-lora-f16.gguf", 3, None),
            RemoteFile("README.md", 3, None),
        ]
    )
    (offer,) = found
    assert (offer.label, offer.size) == ("Q8_0", 6)
    assert offer.files[0].name.startswith("a-Q8_0-00001")


def test_what_there_is_not_is_told_with_what_there_is() -> None:
    with pytest.raises(UserError, match=r"org/m has no Q6_K; it has Q4_0, Q8_0\."):
        chosen(files(Q8_0=1, Q4_0=1), "Q6_K")
    two = [*files(Q4_0=1), RemoteFile("other-Q4_0.gguf", 1, None)]
    with pytest.raises(UserError, match="is not the only one"):
        chosen(two, "Q4_0")
    assert chosen(two, "other-Q4_0.gguf") == "other-Q4_0.gguf"
    with pytest.raises(UserError, match="no GGUF files"):
        chosen([RemoteFile("model.safetensors", 1, None)])


def test_repositories_are_named_in_several_ways() -> None:
    for text in (
        *("org/Name.1:Q4_0", "https://huggingface.co/org/Name.1:Q4_0", "hf.co/org/Name.1:Q4_0"),
        *("hf:org/Name.1:Q4_0", " org/Name.1:Q4_0 "),
    ):
        assert split_name(text) == ("org/Name.1", "Q4_0")
    assert split_name("org/n") == ("org/n", None)
    for text in ("", "name", "a/b/c", "../b", "a/..", "a/b c", "a/\0", "a:b/c"):
        with pytest.raises(UserError, match="is no repository"):
            split_name(text)
