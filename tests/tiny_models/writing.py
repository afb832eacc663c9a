"""Writing a tiny model."""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np

from tests.tiny_models import attention, recurrent, rwkv
from tests.tiny_models.architectures import Architecture
from tests.tiny_models.vocabulary import (
    BEGIN,
    DEFAULT_WORDS,
    END,
    TURN_END,
    TURN_START,
    UNKNOWN,
    add_vocabulary,
    vocabulary,
)
from tests.tiny_models.weights import HEAD_WIDTH, WIDTH, Weights


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


def _write(spec: _Spec, path: Path) -> None:
    writer = gguf.GGUFWriter(path, spec.architecture.value)
    writer.add_name(f"Tiny {spec.architecture.value}")
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_context_length(spec.context_length)
    writer.add_embedding_length(WIDTH)
    writer.add_layer_norm_rms_eps(1e-5)
    add_vocabulary(writer, spec.words, spec.chat_template)
    weights = Weights(writer, np.random.default_rng(spec.seed), spec.head_width)
    _add_ends(weights, spec)
    _BUILDERS[spec.architecture](writer, weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_ends(weights: Weights, spec: _Spec) -> None:
    """The two ends of the model: embeddings and output."""
    size = (len(vocabulary(spec.words)), WIDTH)
    # Gemma multiplies its embeddings by the root of the width. They are kept under the size of what
    # a layer adds, or the model would answer to its last token alone.
    scale = WIDTH**0.5 if spec.architecture is Architecture.GEMMA3 else 1.0
    weights.put("token_embd.weight", weights.normal(size, 0.5 / scale))
    # Three times the natural size: with less, the largest logits are so close together that greedy
    # decoding falls into one token, or tips at the rounding of a batched kernel.
    output = weights.normal(size, 3.0 / WIDTH**0.5)
    output[[UNKNOWN, BEGIN, TURN_START]] = 0.0
    if not spec.can_end:
        output[[END, TURN_END]] = 0.0
    weights.put("output.weight", output)
    hybrid = spec.architecture is Architecture.LFM2
    weights.norm("token_embd_norm" if hybrid else "output_norm")


_BUILDERS: dict[Architecture, Callable[[gguf.GGUFWriter, Weights], None]] = {
    Architecture.LLAMA: attention.build_llama,
    Architecture.GRANITE: attention.build_granite,
    Architecture.DEEPSEEK2: attention.build_deepseek2,
    Architecture.GEMMA3: attention.build_gemma3,
    Architecture.QWEN3MOE: attention.build_qwen3moe,
    Architecture.MAMBA: recurrent.build_mamba,
    Architecture.RWKV7: rwkv.build_rwkv7,
    Architecture.GRANITE_HYBRID: recurrent.build_granitehybrid,
    Architecture.QWEN3_NEXT: recurrent.build_qwen3next,
    Architecture.LFM2: recurrent.build_lfm2,
    Architecture.NEMOTRON_H: recurrent.build_nemotron_h,
    Architecture.QWEN35: recurrent.build_qwen35,
}
