"""RWKV 7: linear attention, and tokens mixed with the one before them."""

import gguf
import numpy as np

from tests.tiny_models.weights import FEED_FORWARD, WIDTH, Weights

# The kernels of llama.cpp take whole registers of a head: 64 numbers, as in all real models.
_HEAD, _RANK = WIDTH, 8


def build_rwkv7(writer: gguf.GGUFWriter, weights: Weights) -> None:
    """All memory is a matrix a head, and the last token of each half layer."""
    layers = 2
    writer.add_block_count(layers)
    writer.add_head_count(0)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_layer_norm_eps(1e-5)
    writer.add_wkv_head_size(_HEAD)
    writer.add_token_shift_count(2)
    writer.add_decay_lora_rank(_RANK)
    writer.add_iclr_lora_rank(_RANK)
    writer.add_value_residual_mix_lora_rank(_RANK)
    writer.add_gate_lora_rank(_RANK)
    _add_norm(weights, "token_embd_norm")
    weights.put("output_norm.bias", np.zeros(WIDTH, dtype=np.float32))
    for layer in range(layers):
        block = f"blk.{layer}"
        _add_norm(weights, f"{block}.attn_norm")
        _add_norm(weights, f"{block}.attn_norm_2")
        _add_time_mix(weights, f"{block}.time_mix")
        weights.put(f"{block}.channel_mix_lerp_k.weight", _around_half(weights, (1, 1, WIDTH)))
        weights.linear(f"{block}.channel_mix_key", FEED_FORWARD, WIDTH)
        weights.linear(f"{block}.channel_mix_value", WIDTH, FEED_FORWARD)


def _add_time_mix(weights: Weights, mix: str) -> None:
    # The first bias makes the state forget slowly, so that old tokens still count.
    for name, bias in (("w", -3.0), ("a", 0.0), ("v", 0.0)):
        weights.norm(f"{mix}_{name}0", gain=bias)
        weights.linear(f"{mix}_{name}1", _RANK, WIDTH)
        weights.linear(f"{mix}_{name}2", WIDTH, _RANK)
    weights.linear(f"{mix}_g1", _RANK, WIDTH)
    weights.linear(f"{mix}_g2", WIDTH, _RANK, gain=3.0)
    weights.put(f"{mix}_lerp_fused.weight", _around_half(weights, (6, 1, 1, WIDTH)))
    weights.norm(f"{mix}_k_k")
    weights.norm(f"{mix}_k_a")
    weights.put(f"{mix}_r_k.weight", weights.normal([WIDTH], 0.3))
    for name in ("key", "value", "receptance", "output"):
        weights.linear(f"{mix}_{name}", WIDTH, WIDTH)
    _add_norm(weights, f"{mix}_ln")


def _add_norm(weights: Weights, name: str) -> None:
    weights.norm(name)
    weights.put(f"{name}.bias", np.zeros(WIDTH, dtype=np.float32))


def _around_half(weights: Weights, size: tuple[int, ...]) -> np.ndarray:
    return weights.normal(size, 0.2) + np.float32(0.5)
