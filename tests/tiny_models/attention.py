"""Families that have attention alone."""

from collections.abc import Sequence

import gguf

from tests.tiny_models.weights import (
    EXPERT_WIDTH,
    EXPERTS,
    EXPERTS_USED,
    FEED_FORWARD,
    HEADS,
    KEY_HEADS,
    WIDTH,
    Weights,
)

SLIDING_WINDOW = 16
"""Tokens that the windowed layers of the gemma3 model see; small, so that tests leave it behind."""


def add_attention(
    weights: Weights,
    block: str,
    *,
    normed: bool,
    sharpness: float = 1.4,
    key_heads: int = KEY_HEADS,
    gated: bool = False,
) -> None:
    """The tensors of one attention layer; `gated` ones gate its output, too."""
    # Queries and keys a little larger than natural: with less, attention is a mean over all tokens
    # and contexts look alike; with more, it looks at a few tokens and the others do not count.
    gain = 1.0 if normed else sharpness
    width = weights.head_width
    weights.linear(f"{block}.attn_q", (1 + gated) * HEADS * width, WIDTH, gain=gain)
    weights.linear(f"{block}.attn_k", key_heads * width, WIDTH, gain=gain)
    weights.linear(f"{block}.attn_v", key_heads * width, WIDTH)
    weights.linear(f"{block}.attn_output", WIDTH, HEADS * width)
    if normed:
        weights.norm(f"{block}.attn_q_norm", width, gain=sharpness)
        weights.norm(f"{block}.attn_k_norm", width, gain=sharpness)


def add_feed_forward(weights: Weights, block: str, norm: str = "ffn_norm") -> None:
    """The tensors of one feed-forward layer."""
    weights.norm(f"{block}.{norm}")
    weights.linear(f"{block}.ffn_gate", FEED_FORWARD, WIDTH)
    weights.linear(f"{block}.ffn_up", FEED_FORWARD, WIDTH)
    weights.linear(f"{block}.ffn_down", WIDTH, FEED_FORWARD)


def describe_attention(
    writer: gguf.GGUFWriter,
    weights: Weights,
    key_heads: int | Sequence[int],
    feed_forward: int | Sequence[int] = FEED_FORWARD,
) -> None:
    """The keys of attention and feed-forward layers. Either number holds for all layers, or there
    is one a layer, 0 for none."""
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(key_heads)
    writer.add_key_length(weights.head_width)
    writer.add_value_length(weights.head_width)
    writer.add_rope_dimension_count(weights.head_width)
    writer.add_feed_forward_length(feed_forward)


def build_llama(writer: gguf.GGUFWriter, weights: Weights, key_heads: int = KEY_HEADS) -> None:
    """Dense, without anything special."""
    layers = 2
    writer.add_block_count(layers)
    describe_attention(writer, weights, key_heads)
    for layer in range(layers):
        block = f"blk.{layer}"
        weights.norm(f"{block}.attn_norm")
        add_attention(weights, block, normed=False, key_heads=key_heads)
        add_feed_forward(weights, block)


def build_granite(writer: gguf.GGUFWriter, weights: Weights) -> None:
    """Like llama, with one key head for all queries."""
    writer.add_logit_scale(1.0)
    build_llama(writer, weights, key_heads=1)


def build_deepseek2(writer: gguf.GGUFWriter, weights: Weights) -> None:
    """All heads share one compressed key and value a token, which is what the cache holds."""
    layers, plain, queries = 2, 8, 32
    turned, latent, value = weights.head_width, 2 * weights.head_width, weights.head_width
    key = plain + turned
    writer.add_block_count(layers)
    writer.add_leading_dense_block_count(layers)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_expert_feed_forward_length(EXPERT_WIDTH)
    writer.add_expert_shared_count(1)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(1)
    writer.add_q_lora_rank(queries)
    writer.add_kv_lora_rank(latent)
    writer.add_key_length(latent + turned)
    writer.add_value_length(latent)
    writer.add_key_length_mla(key)
    writer.add_value_length_mla(value)
    writer.add_rope_dimension_count(turned)
    for layer in range(layers):
        block = f"blk.{layer}"
        weights.norm(f"{block}.attn_norm")
        weights.linear(f"{block}.attn_q_a", queries, WIDTH)
        weights.norm(f"{block}.attn_q_a_norm", queries)
        weights.linear(f"{block}.attn_q_b", HEADS * key, queries, gain=1.4)
        weights.linear(f"{block}.attn_kv_a_mqa", latent + turned, WIDTH)
        weights.norm(f"{block}.attn_kv_a_norm", latent)
        weights.linear(f"{block}.attn_k_b", HEADS, latent, plain, gain=1.4)
        weights.linear(f"{block}.attn_v_b", HEADS, value, latent)
        weights.linear(f"{block}.attn_output", WIDTH, HEADS * value)
        add_feed_forward(weights, block)


def build_gemma3(writer: gguf.GGUFWriter, weights: Weights) -> None:
    """Most layers see a window of the last tokens."""
    windowed = [True, True, True, False]
    writer.add_block_count(len(windowed))
    describe_attention(writer, weights, KEY_HEADS)
    writer.add_sliding_window(SLIDING_WINDOW)
    writer.add_sliding_window_pattern(windowed)
    for layer in range(len(windowed)):
        block = f"blk.{layer}"
        weights.norm(f"{block}.attn_norm")
        add_attention(weights, block, normed=True, sharpness=2.0)
        weights.norm(f"{block}.post_attention_norm")
        add_feed_forward(weights, block)
        weights.norm(f"{block}.post_ffw_norm", gain=0.5)


def describe_experts(writer: gguf.GGUFWriter) -> None:
    """The keys of a mixture of experts."""
    writer.add_expert_count(EXPERTS)
    writer.add_expert_used_count(EXPERTS_USED)
    writer.add_expert_feed_forward_length(EXPERT_WIDTH)


def add_experts(weights: Weights, block: str) -> None:
    """The tensors of one layer of experts."""
    # A steep choice of experts: the last chosen one then weighs little wherever it ties with the
    # next one, so that rounding which tips the choice hardly shows in the output.
    weights.linear(f"{block}.ffn_gate_inp", EXPERTS, WIDTH, gain=8.0)
    weights.linear(f"{block}.ffn_gate_exps", EXPERTS, EXPERT_WIDTH, WIDTH)
    weights.linear(f"{block}.ffn_up_exps", EXPERTS, EXPERT_WIDTH, WIDTH)
    weights.linear(f"{block}.ffn_down_exps", EXPERTS, WIDTH, EXPERT_WIDTH)


def build_qwen3moe(writer: gguf.GGUFWriter, weights: Weights) -> None:
    """A mixture of experts."""
    layers = 2
    writer.add_block_count(layers)
    describe_attention(writer, weights, KEY_HEADS)
    describe_experts(writer)
    for layer in range(layers):
        block = f"blk.{layer}"
        weights.norm(f"{block}.attn_norm")
        add_attention(weights, block, normed=True)
        weights.norm(f"{block}.ffn_norm")
        add_experts(weights, block)
