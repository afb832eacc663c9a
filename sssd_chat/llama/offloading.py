"""How many layers of a model fit into the memory of the GPUs, as its header tells.

llama.cpp counts the output as one more layer, and fills from the end: with n layers, those are the
output and the last n - 1 blocks. The embeddings of the input always stay with the CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sssd_chat.llama.devices import Device
from sssd_chat.llama.gguf import GgufHeader
from sssd_chat.llama.header_keys import HeaderKeys
from sssd_chat.llama.kv_cache import CacheSettings, cache_shape
from sssd_chat.llama.working_memory import working_bytes

_SPARE = 256 * 2**20
"""Bytes of each GPU that are left alone: its driver's own, and what the screen needs next."""


@dataclass(frozen=True, slots=True)
class OffloadPlan:
    """Where the layers of a model go."""

    layers: int
    """That fit, as llama.cpp counts them: with the output as one more."""
    all_layers: int
    """That there are, the output included."""
    free: int
    """Bytes of GPU memory that are free."""
    needed: int
    """Bytes that all layers would take, with their part of the cache and room to work."""

    @property
    def is_whole(self) -> bool:
        """Whether everything fits."""
        return self.layers >= self.all_layers


def plan_offload(
    header: GgufHeader, devices: Sequence[Device], tokens: int, cache: CacheSettings
) -> OffloadPlan | None:
    """What fits when the cache holds `tokens` tokens. None when it cannot be known: without a GPU,
    one that does not tell its memory, or weights of an unknown format."""
    gpus = used_gpus(devices)
    blocks = HeaderKeys(header).number("block_count")
    if not gpus or not all(gpu.free for gpu in gpus) or not blocks or not header.tensor_bytes:
        return None
    free = sum(max(0, gpu.free - _SPARE) for gpu in gpus)
    work = len(gpus) * _working_bytes(header, tokens, cache)
    costs = _layer_costs(header, blocks, tokens, cache)
    layers, used = 0, work
    for cost in costs:
        if used + cost > free:
            break
        used += cost
        layers += 1
    return OffloadPlan(layers, blocks + 1, sum(gpu.free for gpu in gpus), work + sum(costs))


def used_gpus(devices: Sequence[Device]) -> list[Device]:
    """Those that llama.cpp offloads to: integrated ones only where there are no others."""
    own_memory = [device for device in devices if device.kind == "GPU"]
    return own_memory or [device for device in devices if device.is_gpu]


def fewer_layers(layers: int, all_layers: int) -> int:
    """The number to try when so many did not fit: half of them."""
    return min(layers, all_layers) // 2 if layers > 0 else all_layers // 2


def told_layers(layers: int, all_layers: int) -> str:
    """How many of the layers are on a GPU, without the output: "12 of 28 layers"."""
    blocks = all_layers - 1
    return f"{min(blocks, max(0, layers - 1))} of {blocks} layers"


def _layer_costs(header: GgufHeader, blocks: int, tokens: int, cache: CacheSettings) -> list[int]:
    """Bytes of each layer in the order in which llama.cpp takes them: the output, then the blocks
    from the last to the first."""
    sizes = header.tensor_bytes
    ends = sum(size for part, size in sizes.items() if part.startswith("output"))
    if not sizes.get("output"):
        # The output is computed with the embeddings, of which the GPU gets its own.
        ends += sizes.get("token_embd", 0)
    shape = cache_shape(header).layer_bytes(cache)
    in_cache = [tokens * size for size in shape[:blocks]] + [0] * max(0, blocks - len(shape))
    own = [sizes.get(f"blk.{number}", 0) + in_cache[number] for number in range(blocks)]
    return [ends, *reversed(own)]


def _working_bytes(header: GgufHeader, tokens: int, cache: CacheSettings) -> int:
    own = HeaderKeys(header)
    heads = max(own.each_layer("attention.head_count"))
    has_flash = cache.flash_on(on_gpu=True) is True
    vocabulary = header.vocabulary_size or 0
    return working_bytes(vocabulary, heads, own.number("embedding_length"), tokens, has_flash)
