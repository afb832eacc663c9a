"""How many layers fit on a GPU, told from the header."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sssd_chat.llama.devices import Device, has_gpu
from sssd_chat.llama.gguf import GgufHeader, read_header
from sssd_chat.llama.kv_cache import USUAL_CACHE, CacheSettings
from sssd_chat.llama.offloading import plan_offload, told_layers, used_gpus
from sssd_chat.models.description import describe
from tests.tiny_models import Architecture, tiny_model

MB = 10**6
BLOCKS = 28
CPU = Device("CPU", "", "CPU", 10**11, 10**11)


def gpu(free: int, kind: str = "GPU") -> Device:
    return Device("CUDA0", "A card", kind, free, max(free, 8000 * MB))


def header(**more: int) -> GgufHeader:
    """28 blocks of 100 MB, an output of 300 MB, and a cache of 28 × 2 × 1024 numbers a token."""
    keys = {
        "x.block_count": BLOCKS,
        "x.embedding_length": 2048,
        "x.attention.head_count": 16,
        "x.attention.head_count_kv": 8,
    }
    sizes = {f"blk.{number}": 100 * MB for number in range(BLOCKS)}
    sizes |= {"token_embd": 300 * MB, "output": 300 * MB, "output_norm": 0, **more}
    lengths = {"tokenizer.ggml.tokens": 150_000}
    return GgufHeader(Path("m.gguf"), "x", keys, lengths, 1, 1, 1, 1, 1, 1, sizes)


def test_as_many_layers_as_fit() -> None:
    layers = []
    for free in range(0, 6000, 50):
        plan = plan_offload(header(), [CPU, gpu(free * MB)], 8192, USUAL_CACHE)
        if free == 0:
            # A device that does not tell its memory.
            assert plan is None
            continue
        assert plan is not None and plan.all_layers == BLOCKS + 1
        assert plan.is_whole == (plan.layers == BLOCKS + 1)
        layers.append(plan.layers)
    assert layers == sorted(layers)
    assert layers[0] == 0 and layers[-1] == BLOCKS + 1
    assert len(set(layers)) == BLOCKS + 2, "each layer more takes a little more memory"


def test_what_is_counted() -> None:
    plan = plan_offload(header(), [gpu(4000 * MB)], 16384, USUAL_CACHE)
    assert plan is not None
    weights, cache = (BLOCKS * 100 + 300) * MB, 16384 * BLOCKS * 2 * 1024 * 2
    assert plan.needed > weights + cache
    small = plan_offload(header(), [gpu(4000 * MB)], 16384, CacheSettings("q8_0", "q8_0"))
    assert small is not None
    # The cache is half as large, and flash attention needs no table of pairs.
    assert plan.needed - small.needed > cache * 15 // 32
    assert small.layers > plan.layers
    shorter = plan_offload(header(), [gpu(4000 * MB)], 1024, USUAL_CACHE)
    assert shorter is not None and shorter.layers > plan.layers
    # Without an output of its own, a model computes it with a copy of its embeddings.
    sizes = {part: size for part, size in header().tensor_bytes.items() if part != "output"}
    tied = replace(header(), tensor_bytes=sizes)
    with_tied = plan_offload(tied, [gpu(4000 * MB)], 16384, USUAL_CACHE)
    assert with_tied is not None and with_tied.needed == plan.needed


def test_several_gpus_share_and_integrated_ones_only_help_out() -> None:
    one = plan_offload(header(), [gpu(2500 * MB)], 4096, USUAL_CACHE)
    two = plan_offload(header(), [gpu(2500 * MB), gpu(2500 * MB)], 4096, USUAL_CACHE)
    assert one is not None and two is not None and one.layers < two.layers
    integrated = gpu(9000 * MB, "integrated GPU")
    assert used_gpus([CPU, integrated]) == [integrated]
    assert used_gpus([CPU, integrated, gpu(1)]) == [gpu(1)]
    assert plan_offload(header(), [CPU], 4096, USUAL_CACHE) is None
    assert plan_offload(replace(header(), tensor_bytes={}), [gpu(1)], 1, USUAL_CACHE) is None


def test_layers_are_told_without_the_output() -> None:
    assert told_layers(0, 29) == told_layers(1, 29) == "0 of 28 layers"
    assert told_layers(13, 29) == "12 of 28 layers"
    assert told_layers(99, 29) == "28 of 28 layers"


@pytest.mark.parametrize("architecture", Architecture)
def test_the_header_tells_the_bytes_of_each_block(models: Path, architecture: Architecture) -> None:
    told = read_header(tiny_model(models, architecture))
    blocks = {part: size for part, size in told.tensor_bytes.items() if part.startswith("blk.")}
    assert set(blocks) == {f"blk.{number}" for number in range(describe(told).layers)}
    assert min(blocks.values()) > 0
    # All weights of these models are numbers of four bytes.
    assert sum(told.tensor_bytes.values()) == 4 * told.parameter_count


def test_this_build_has_no_gpu() -> None:
    from sssd_chat.llama.devices import devices

    assert has_gpu() == any(device.is_gpu for device in devices())
