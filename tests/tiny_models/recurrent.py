"""Families with a recurrent state, alone or beside attention."""

import gguf
import numpy as np

from tests.tiny_models.attention import (
    add_attention,
    add_experts,
    add_feed_forward,
    describe_attention,
    describe_experts,
)
from tests.tiny_models.weights import (
    CONVOLUTION,
    EXPERT_WIDTH,
    FEED_FORWARD,
    INNER,
    KEY_HEADS,
    STATE,
    TIME_RANK,
    WIDTH,
    Weights,
)

_STATE_HEADS, _GROUPS = 8, 2
_DELTA_STATE, _DELTA_KEYS, _DELTA_VALUES = 16, 2, 4
_INTERVAL = 3
"""Every third layer of a model with gated delta nets is attention."""


def build_mamba(writer: gguf.GGUFWriter, weights: Weights) -> None:
    """A selective state space and nothing else."""
    layers = 2
    writer.add_block_count(layers)
    writer.add_head_count(0)
    writer.add_feed_forward_length(0)
    writer.add_ssm_conv_kernel(CONVOLUTION)
    writer.add_ssm_inner_size(INNER)
    writer.add_ssm_state_size(STATE)
    writer.add_ssm_time_step_rank(TIME_RANK)
    decay = -np.tile(np.arange(1, STATE + 1, dtype=np.float32), (INNER, 1))
    for layer in range(layers):
        block = f"blk.{layer}"
        weights.norm(f"{block}.attn_norm")
        weights.linear(f"{block}.ssm_in", 2 * INNER, WIDTH, gain=2.0)
        weights.linear(f"{block}.ssm_conv1d", INNER, CONVOLUTION)
        weights.put(f"{block}.ssm_conv1d.bias", np.zeros(INNER, dtype=np.float32))
        weights.linear(f"{block}.ssm_x", TIME_RANK + 2 * STATE, INNER)
        weights.linear(f"{block}.ssm_dt", INNER, TIME_RANK)
        # Small time steps: the state forgets slowly, so old tokens still count.
        weights.put(f"{block}.ssm_dt.bias", np.full(INNER, -2.0, dtype=np.float32))
        weights.put(f"{block}.ssm_a", decay)
        weights.put(f"{block}.ssm_d", np.ones(INNER, dtype=np.float32))
        weights.linear(f"{block}.ssm_out", WIDTH, INNER)


def build_lfm2(writer: gguf.GGUFWriter, weights: Weights) -> None:
    """Short convolutions, and attention in the middle."""
    # A layer without key heads is a convolution.
    key_heads = [0, KEY_HEADS, 0]
    writer.add_block_count(len(key_heads))
    describe_attention(writer, weights, key_heads)
    writer.add_shortconv_l_cache(CONVOLUTION)
    for layer, heads in enumerate(key_heads):
        block = f"blk.{layer}"
        weights.norm(f"{block}.attn_norm")
        if heads:
            add_attention(weights, block, normed=True)
        else:
            weights.linear(f"{block}.shortconv.conv", WIDTH, CONVOLUTION)
            weights.linear(f"{block}.shortconv.in_proj", 3 * WIDTH, WIDTH)
            weights.linear(f"{block}.shortconv.out_proj", WIDTH, WIDTH)
        add_feed_forward(weights, block)


def _describe_mamba2(writer: gguf.GGUFWriter) -> None:
    writer.add_ssm_conv_kernel(CONVOLUTION)
    writer.add_ssm_inner_size(INNER)
    writer.add_ssm_state_size(STATE)
    writer.add_ssm_time_step_rank(_STATE_HEADS)
    writer.add_ssm_group_count(_GROUPS)


def _add_mamba2(weights: Weights, block: str) -> None:
    convolved = INNER + 2 * _GROUPS * STATE
    weights.linear(f"{block}.ssm_in", INNER + convolved + _STATE_HEADS, WIDTH, gain=1.5)
    weights.linear(f"{block}.ssm_conv1d", convolved, CONVOLUTION)
    weights.put(f"{block}.ssm_conv1d.bias", np.zeros(convolved, dtype=np.float32))
    weights.put(f"{block}.ssm_dt.bias", np.full(_STATE_HEADS, -2.0, dtype=np.float32))
    decay = -np.linspace(0.2, 2.0, _STATE_HEADS, dtype=np.float32).reshape(-1, 1)
    weights.put(f"{block}.ssm_a", decay)
    weights.put(f"{block}.ssm_d", np.ones((_STATE_HEADS, 1), dtype=np.float32))
    weights.put(f"{block}.ssm_norm.weight", np.ones((_GROUPS, INNER // _GROUPS), dtype=np.float32))
    weights.linear(f"{block}.ssm_out", WIDTH, INNER)


def build_granitehybrid(writer: gguf.GGUFWriter, weights: Weights) -> None:
    """Mamba 2 around attention, each with a feed-forward layer."""
    key_heads = [0, KEY_HEADS, 0]
    writer.add_block_count(len(key_heads))
    describe_attention(writer, weights, key_heads)
    _describe_mamba2(writer)
    for layer, heads in enumerate(key_heads):
        block = f"blk.{layer}"
        weights.norm(f"{block}.attn_norm")
        if heads:
            add_attention(weights, block, normed=False)
        else:
            _add_mamba2(weights, block)
        add_feed_forward(weights, block)


def build_nemotron_h(writer: gguf.GGUFWriter, weights: Weights) -> None:
    """Each layer is one of three kinds: Mamba 2, attention, feed-forward."""
    layers = ["mamba", "attention", "mamba", "feed forward"]
    writer.add_block_count(len(layers))
    describe_attention(
        writer,
        weights,
        [KEY_HEADS if kind == "attention" else 0 for kind in layers],
        [FEED_FORWARD if kind == "feed forward" else 0 for kind in layers],
    )
    writer.add_layer_norm_eps(1e-5)
    _describe_mamba2(writer)
    for layer, kind in enumerate(layers):
        block = f"blk.{layer}"
        weights.norm(f"{block}.attn_norm")
        if kind == "mamba":
            _add_mamba2(weights, block)
        elif kind == "attention":
            add_attention(weights, block, normed=False)
        else:
            weights.linear(f"{block}.ffn_up", FEED_FORWARD, WIDTH)
            weights.linear(f"{block}.ffn_down", WIDTH, FEED_FORWARD)


def _describe_delta_net(writer: gguf.GGUFWriter) -> None:
    writer.add_full_attention_interval(_INTERVAL)
    writer.add_ssm_conv_kernel(CONVOLUTION)
    writer.add_ssm_inner_size(_DELTA_VALUES * _DELTA_STATE)
    writer.add_ssm_state_size(_DELTA_STATE)
    writer.add_ssm_time_step_rank(_DELTA_VALUES)
    writer.add_ssm_group_count(_DELTA_KEYS)


def _add_delta_net(weights: Weights, block: str, *, joined: bool) -> None:
    values = _DELTA_VALUES * _DELTA_STATE
    mixed = 2 * _DELTA_KEYS * _DELTA_STATE + values
    weights.linear(f"{block}.attn_qkv", mixed, WIDTH)
    weights.linear(f"{block}.attn_gate", values, WIDTH)
    weights.linear(f"{block}.ssm_conv1d", mixed, CONVOLUTION)
    weights.put(f"{block}.ssm_dt.bias", np.full(_DELTA_VALUES, -2.0, dtype=np.float32))
    weights.put(f"{block}.ssm_a", -np.linspace(0.2, 1.0, _DELTA_VALUES, dtype=np.float32))
    if joined:
        weights.linear(f"{block}.ssm_ba", 2 * _DELTA_VALUES, WIDTH)
    else:
        weights.linear(f"{block}.ssm_beta", _DELTA_VALUES, WIDTH)
        weights.linear(f"{block}.ssm_alpha", _DELTA_VALUES, WIDTH)
    weights.norm(f"{block}.ssm_norm", _DELTA_STATE)
    weights.linear(f"{block}.ssm_out", WIDTH, values)


def build_qwen3next(writer: gguf.GGUFWriter, weights: Weights) -> None:
    """Gated delta nets and gated attention, with experts and a shared one."""
    writer.add_block_count(_INTERVAL)
    describe_attention(writer, weights, KEY_HEADS)
    describe_experts(writer)
    writer.add_expert_shared_feed_forward_length(EXPERT_WIDTH)
    _describe_delta_net(writer)
    for layer in range(_INTERVAL):
        block = f"blk.{layer}"
        weights.norm(f"{block}.attn_norm")
        weights.norm(f"{block}.post_attention_norm")
        if (layer + 1) % _INTERVAL:
            _add_delta_net(weights, block, joined=True)
        else:
            add_attention(weights, block, normed=True, gated=True)
        add_experts(weights, block)
        weights.put(f"{block}.ffn_gate_inp_shexp.weight", weights.normal([WIDTH], 0.1))
        weights.linear(f"{block}.ffn_gate_shexp", EXPERT_WIDTH, WIDTH)
        weights.linear(f"{block}.ffn_up_shexp", EXPERT_WIDTH, WIDTH)
        weights.linear(f"{block}.ffn_down_shexp", WIDTH, EXPERT_WIDTH)


def build_qwen35(writer: gguf.GGUFWriter, weights: Weights) -> None:
    """Gated delta nets and gated attention, dense."""
    writer.add_block_count(_INTERVAL)
    describe_attention(writer, weights, KEY_HEADS)
    writer.add_rope_dimension_sections([4, 2, 2, 0])
    _describe_delta_net(writer)
    for layer in range(_INTERVAL):
        block = f"blk.{layer}"
        weights.norm(f"{block}.attn_norm")
        if (layer + 1) % _INTERVAL:
            _add_delta_net(weights, block, joined=False)
        else:
            add_attention(weights, block, normed=True, gated=True)
        add_feed_forward(weights, block, norm="post_attention_norm")
