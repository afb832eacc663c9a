"""Small random models that real llama.cpp loads, so that every test can run the real thing.

`tiny_model` writes a GGUF file of about half a megabyte in a few milliseconds: two to four layers
of width 64, weights drawn from a seed, 320 tokens. The text it writes is noise, but noise that
depends on every token of the context (an old token moves the logits by ten times what rounding
does), so that a wrong entry in the KV cache shows in the output. Batched and single decoding differ
by rounding alone: at most about 0.05 in a logit.

The vocabulary is SentencePiece-like with byte fallback: control tokens, 256 byte tokens, runs of
spaces up to 64 (a token longer than a small buffer), lower-case letters, some punctuation, a few
word pieces. "é" and "世" are pieces of their own; any other character outside ASCII takes one byte
token a byte, as do digits and capitals.
"""

import enum
import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
import numpy.typing as npt

CHATML_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""The ChatML template, whose marks are control tokens of the tiny vocabulary."""

SLIDING_WINDOW = 16
"""Tokens that the windowed layers of the gemma3 model see; small, so that tests leave it behind."""

UNKNOWN, BEGIN, END, TURN_START, TURN_END = 0, 1, 2, 259, 260
"""Ids of `<unk>`, `<s>`, `</s>`, `<|im_start|>` and `<|im_end|>`."""

FIRST_BYTE = 3
"""Id of the token for byte 0; byte b has the id FIRST_BYTE + b."""

LONGEST_SPACES = 64
"""Length in bytes of the longest token, a run of spaces."""

# Every piece of three letters or more can be reached by joining two others: that is how the
# tokenizer of llama.cpp builds them.
DEFAULT_WORDS = (
    *("th", "he", "in", "er", "an", "re", "▁t", "▁a", "the", "▁the", "ing", "and"),
    *("é", "世"),
)
"""The word pieces at the end of the vocabulary; other words make another vocabulary."""

HEAD_WIDTH = 16
"""Numbers of an attention head, unless a model is asked for with another width."""

_SPACE_RUNS = tuple("▁" * 2**power for power in range(LONGEST_SPACES.bit_length()))
_CHARACTERS = tuple("abcdefghijklmnopqrstuvwxyz.,!?-:;()\"'=")

_WIDTH = 64
_HEADS = 4
_KEY_HEADS = 2
_FEED_FORWARD = 128
_EXPERTS, _EXPERTS_USED, _EXPERT_WIDTH = 6, 3, 48
_CONVOLUTION = 4
_STATE, _INNER, _TIME_RANK = 8, 2 * _WIDTH, 8

_Array = npt.NDArray[np.float32]


class Architecture(enum.StrEnum):
    """The model families that differ in how their memory works; the value is the GGUF name."""

    LLAMA = "llama"
    GEMMA3 = "gemma3"  # sliding window in three layers of four
    QWEN3MOE = "qwen3moe"  # mixture of experts
    MAMBA = "mamba"  # recurrent
    LFM2 = "lfm2"  # hybrid: short convolutions and attention

    @property
    def can_roll_back(self) -> bool:
        """Whether its memory can drop any of its last tokens, which a tree of drafts needs."""
        return self not in (Architecture.MAMBA, Architecture.LFM2)

    @property
    def keeps_states(self) -> bool:
        """Whether llama.cpp keeps earlier versions of its recurrent state."""
        return self is Architecture.LFM2


TREE_ARCHITECTURES = tuple(kind for kind in Architecture if kind.can_roll_back)
"""The architectures that can verify a tree."""

CHAIN_ARCHITECTURES = tuple(kind for kind in Architecture if kind.keeps_states)
"""The architectures that can verify a chain."""

DRAFTED_ARCHITECTURES = (*TREE_ARCHITECTURES, *CHAIN_ARCHITECTURES)
"""The architectures that can be drafted for at all."""

RECURRENT_ARCHITECTURES = tuple(kind for kind in Architecture if not kind.can_roll_back)
"""The architectures whose texts cannot be shortened to any length."""

PLAIN_ARCHITECTURES = tuple(
    kind for kind in Architecture if not kind.can_roll_back and not kind.keeps_states
)
"""The architectures that can only decode token after token."""


@dataclass(frozen=True)
class _Spec:
    """Everything that the bytes of a file depend on."""

    architecture: Architecture
    seed: int
    chat_template: str | None
    context_length: int
    words: tuple[str, ...]
    can_end: bool
    head_width: int

    def file_name(self) -> str:
        """A name that two different specifications never share."""
        digest = hashlib.sha256(repr(self).encode()).hexdigest()[:12]
        return f"tiny-{self.architecture.value}-{digest}.gguf"


def tiny_model(
    folder: Path,
    architecture: Architecture = Architecture.LLAMA,
    *,
    seed: int = 0,
    chat_template: str | None = None,
    context_length: int = 4096,
    words: Sequence[str] = DEFAULT_WORDS,
    can_end: bool = False,
    head_width: int = HEAD_WIDTH,
) -> Path:
    """Return a tiny model in `folder`, written now or by an earlier call with the same arguments.

    The same arguments always give the same bytes. `context_length` is the trained one, in tokens.
    With `can_end`, the model ends a turn now and then (`</s>`, `<|im_end|>`); without, never.
    `head_width` is the numbers of an attention head; a quantized KV cache needs a multiple of 32.
    """
    spec = _Spec(
        architecture, seed, chat_template, context_length, tuple(words), can_end, head_width
    )
    path = folder / spec.file_name()
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        _write(spec, unfinished)
        unfinished.replace(path)
    return path


def vocabulary(words: Sequence[str] = DEFAULT_WORDS) -> list[str]:
    """The pieces of the vocabulary in the order of their ids, "▁" standing for a space."""
    bytes_ = [f"<0x{value:02X}>" for value in range(256)]
    marks = ["<|im_start|>", "<|im_end|>"]
    return ["<unk>", "<s>", "</s>", *bytes_, *marks, *_SPACE_RUNS, *_CHARACTERS, *words]


def _write(spec: _Spec, path: Path) -> None:
    writer = gguf.GGUFWriter(path, spec.architecture.value)
    writer.add_name(f"Tiny {spec.architecture.value}")
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_context_length(spec.context_length)
    writer.add_embedding_length(_WIDTH)
    writer.add_layer_norm_rms_eps(1e-5)
    _add_vocabulary(writer, spec)
    weights = _Weights(writer, np.random.default_rng(spec.seed), spec.head_width)
    _add_ends(weights, spec)
    _BUILDERS[spec.architecture](writer, weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_vocabulary(writer: gguf.GGUFWriter, spec: _Spec) -> None:
    pieces = vocabulary(spec.words)
    types = [gguf.TokenType.NORMAL] * len(pieces)
    types[UNKNOWN] = gguf.TokenType.UNKNOWN
    types[FIRST_BYTE : FIRST_BYTE + 256] = [gguf.TokenType.BYTE] * 256
    for control in (BEGIN, END, TURN_START, TURN_END):
        types[control] = gguf.TokenType.CONTROL
    writer.add_tokenizer_model("llama")
    writer.add_token_list(pieces)
    # Later pieces are longer, and the tokenizer joins the pair with the highest score first.
    writer.add_token_scores([float(rank) for rank in range(len(pieces))])
    writer.add_token_types(types)
    writer.add_unk_token_id(UNKNOWN)
    writer.add_bos_token_id(BEGIN)
    writer.add_eos_token_id(END)
    writer.add_eot_token_id(TURN_END)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    if spec.chat_template is not None:
        writer.add_chat_template(spec.chat_template)


class _Weights:
    """Adds random tensors to a file; sizes are (outputs, inputs) as numpy counts them."""

    def __init__(
        self, writer: gguf.GGUFWriter, random: np.random.Generator, head_width: int
    ) -> None:
        self._writer = writer
        self._random = random
        self.head_width = head_width

    def normal(self, size: Sequence[int], deviation: float) -> _Array:
        """Normally distributed numbers around 0."""
        drawn: _Array = self._random.normal(0.0, deviation, size).astype(np.float32)
        return drawn

    def linear(self, name: str, *size: int, gain: float = 1.0) -> None:
        """A matrix that keeps the size of its input, times `gain`."""
        self.put(f"{name}.weight", self.normal(size, gain / size[-1] ** 0.5))

    def norm(self, name: str, width: int = _WIDTH, gain: float = 1.0) -> None:
        """The weights of a normalization."""
        self.put(f"{name}.weight", np.full(width, gain, dtype=np.float32))

    def put(self, name: str, values: _Array) -> None:
        """A tensor with these very values."""
        self._writer.add_tensor(name, values)


def _add_ends(weights: _Weights, spec: _Spec) -> None:
    """The two ends of the model: embeddings and output."""
    size = (len(vocabulary(spec.words)), _WIDTH)
    # Gemma multiplies its embeddings by the root of the width. They are kept under the size of what
    # a layer adds, or the model would answer to its last token alone.
    scale = _WIDTH**0.5 if spec.architecture is Architecture.GEMMA3 else 1.0
    weights.put("token_embd.weight", weights.normal(size, 0.5 / scale))
    # Three times the natural size: with less, the largest logits are so close together that greedy
    # decoding falls into one token, or tips at the rounding of a batched kernel.
    output = weights.normal(size, 3.0 / _WIDTH**0.5)
    output[[UNKNOWN, BEGIN, TURN_START]] = 0.0
    if not spec.can_end:
        output[[END, TURN_END]] = 0.0
    weights.put("output.weight", output)
    hybrid = spec.architecture is Architecture.LFM2
    weights.norm("token_embd_norm" if hybrid else "output_norm")


def _add_attention(weights: _Weights, block: str, *, normed: bool, sharpness: float = 1.4) -> None:
    # Queries and keys a little larger than natural: with less, attention is a mean over all tokens
    # and contexts look alike; with more, it looks at a few tokens and the others do not count.
    gain = 1.0 if normed else sharpness
    width = weights.head_width
    weights.linear(f"{block}.attn_q", _HEADS * width, _WIDTH, gain=gain)
    weights.linear(f"{block}.attn_k", _KEY_HEADS * width, _WIDTH, gain=gain)
    weights.linear(f"{block}.attn_v", _KEY_HEADS * width, _WIDTH)
    weights.linear(f"{block}.attn_output", _WIDTH, _HEADS * width)
    if normed:
        weights.norm(f"{block}.attn_q_norm", width, gain=sharpness)
        weights.norm(f"{block}.attn_k_norm", width, gain=sharpness)


def _add_feed_forward(weights: _Weights, block: str) -> None:
    weights.norm(f"{block}.ffn_norm")
    weights.linear(f"{block}.ffn_gate", _FEED_FORWARD, _WIDTH)
    weights.linear(f"{block}.ffn_up", _FEED_FORWARD, _WIDTH)
    weights.linear(f"{block}.ffn_down", _WIDTH, _FEED_FORWARD)


def _describe_attention(
    writer: gguf.GGUFWriter, weights: _Weights, key_heads: int | Sequence[int]
) -> None:
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(key_heads)
    writer.add_key_length(weights.head_width)
    writer.add_value_length(weights.head_width)
    writer.add_rope_dimension_count(weights.head_width)
    writer.add_feed_forward_length(_FEED_FORWARD)


def _build_llama(writer: gguf.GGUFWriter, weights: _Weights) -> None:
    layers = 2
    writer.add_block_count(layers)
    _describe_attention(writer, weights, _KEY_HEADS)
    for layer in range(layers):
        block = f"blk.{layer}"
        weights.norm(f"{block}.attn_norm")
        _add_attention(weights, block, normed=False)
        _add_feed_forward(weights, block)


def _build_gemma3(writer: gguf.GGUFWriter, weights: _Weights) -> None:
    windowed = [True, True, True, False]
    writer.add_block_count(len(windowed))
    _describe_attention(writer, weights, _KEY_HEADS)
    writer.add_sliding_window(SLIDING_WINDOW)
    writer.add_sliding_window_pattern(windowed)
    for layer in range(len(windowed)):
        block = f"blk.{layer}"
        weights.norm(f"{block}.attn_norm")
        _add_attention(weights, block, normed=True, sharpness=2.0)
        weights.norm(f"{block}.post_attention_norm")
        _add_feed_forward(weights, block)
        weights.norm(f"{block}.post_ffw_norm", gain=0.5)


def _build_qwen3moe(writer: gguf.GGUFWriter, weights: _Weights) -> None:
    layers = 2
    writer.add_block_count(layers)
    _describe_attention(writer, weights, _KEY_HEADS)
    writer.add_expert_count(_EXPERTS)
    writer.add_expert_used_count(_EXPERTS_USED)
    writer.add_expert_feed_forward_length(_EXPERT_WIDTH)
    for layer in range(layers):
        block = f"blk.{layer}"
        weights.norm(f"{block}.attn_norm")
        _add_attention(weights, block, normed=True)
        weights.norm(f"{block}.ffn_norm")
        # A steep choice of experts: the last chosen one then weighs little wherever it ties with
        # the next one, so that rounding which tips the choice hardly shows in the output.
        weights.linear(f"{block}.ffn_gate_inp", _EXPERTS, _WIDTH, gain=8.0)
        weights.linear(f"{block}.ffn_gate_exps", _EXPERTS, _EXPERT_WIDTH, _WIDTH)
        weights.linear(f"{block}.ffn_up_exps", _EXPERTS, _EXPERT_WIDTH, _WIDTH)
        weights.linear(f"{block}.ffn_down_exps", _EXPERTS, _WIDTH, _EXPERT_WIDTH)


def _build_mamba(writer: gguf.GGUFWriter, weights: _Weights) -> None:
    layers = 2
    writer.add_block_count(layers)
    writer.add_head_count(0)
    writer.add_feed_forward_length(0)
    writer.add_ssm_conv_kernel(_CONVOLUTION)
    writer.add_ssm_inner_size(_INNER)
    writer.add_ssm_state_size(_STATE)
    writer.add_ssm_time_step_rank(_TIME_RANK)
    decay = -np.tile(np.arange(1, _STATE + 1, dtype=np.float32), (_INNER, 1))
    for layer in range(layers):
        block = f"blk.{layer}"
        weights.norm(f"{block}.attn_norm")
        weights.linear(f"{block}.ssm_in", 2 * _INNER, _WIDTH, gain=2.0)
        weights.linear(f"{block}.ssm_conv1d", _INNER, _CONVOLUTION)
        weights.put(f"{block}.ssm_conv1d.bias", np.zeros(_INNER, dtype=np.float32))
        weights.linear(f"{block}.ssm_x", _TIME_RANK + 2 * _STATE, _INNER)
        weights.linear(f"{block}.ssm_dt", _INNER, _TIME_RANK)
        # Small time steps: the state forgets slowly, so old tokens still count.
        weights.put(f"{block}.ssm_dt.bias", np.full(_INNER, -2.0, dtype=np.float32))
        weights.put(f"{block}.ssm_a", decay)
        weights.put(f"{block}.ssm_d", np.ones(_INNER, dtype=np.float32))
        weights.linear(f"{block}.ssm_out", _WIDTH, _INNER)


def _build_lfm2(writer: gguf.GGUFWriter, weights: _Weights) -> None:
    # A layer without key heads is a convolution.
    key_heads = [0, _KEY_HEADS, 0]
    writer.add_block_count(len(key_heads))
    _describe_attention(writer, weights, key_heads)
    writer.add_shortconv_l_cache(_CONVOLUTION)
    for layer, heads in enumerate(key_heads):
        block = f"blk.{layer}"
        weights.norm(f"{block}.attn_norm")
        if heads:
            _add_attention(weights, block, normed=True)
        else:
            weights.linear(f"{block}.shortconv.conv", _WIDTH, _CONVOLUTION)
            weights.linear(f"{block}.shortconv.in_proj", 3 * _WIDTH, _WIDTH)
            weights.linear(f"{block}.shortconv.out_proj", _WIDTH, _WIDTH)
        _add_feed_forward(weights, block)


_BUILDERS: dict[Architecture, Callable[[gguf.GGUFWriter, _Weights], None]] = {
    Architecture.LLAMA: _build_llama,
    Architecture.GEMMA3: _build_gemma3,
    Architecture.QWEN3MOE: _build_qwen3moe,
    Architecture.MAMBA: _build_mamba,
    Architecture.LFM2: _build_lfm2,
}
