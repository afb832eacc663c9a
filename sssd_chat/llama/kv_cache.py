"""The KV cache of a model: how large it is, and which numbers it may consist of.

llama.cpp refuses a combination that it cannot compute only after the weights are loaded, and some
of them end the process. All that it asks for is known from the header.
"""

from __future__ import annotations

from dataclasses import dataclass

from sssd_chat.errors import UsageError
from sssd_chat.llama.gguf import GgufHeader
from sssd_chat.llama.gguf_format import BLOCKS
from sssd_chat.llama.header_keys import HeaderKeys

_GGML_TYPES = {
    "f32": 0,
    "f16": 1,
    "bf16": 30,
    "q8_0": 8,
    "q5_1": 7,
    "q5_0": 6,
    "q4_1": 3,
    "q4_0": 2,
    "iq4_nl": 20,
}
CACHE_TYPES = tuple(_GGML_TYPES)
"""The number formats that llama.cpp can compute attention with."""
USUAL_TYPE = "f16"
"""That of a cache unless another one is asked for."""

AUTO, ON, OFF = "auto", "on", "off"
FLASH_ATTENTION = (AUTO, ON, OFF)
"""Attention in one pass over the cache, without a table of all pairs of tokens. By itself, it is
off on a CPU while few texts share the cache, and on otherwise where llama.cpp can."""
MANY_TEXTS = 4
"""So many texts in one cache are many: most of a table of all pairs would be pairs of tokens that
do not see each other."""

_WITHOUT_FLASH = ("grok",)


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """What a cache consists of and how it is read."""

    type_k: str = USUAL_TYPE
    """Format of the keys, one of CACHE_TYPES."""
    type_v: str = USUAL_TYPE
    """Format of the values."""
    flash_attention: str = AUTO
    """One of FLASH_ATTENTION."""

    @property
    def ggml_types(self) -> tuple[int, int]:
        """Both formats as llama.cpp counts them (ggml_type)."""
        return _GGML_TYPES[self.type_k], _GGML_TYPES[self.type_v]

    @property
    def is_usual(self) -> bool:
        """Whether both formats are what they are by themselves."""
        return self.type_k == self.type_v == USUAL_TYPE

    def bytes_of(self, keys: int, values: int) -> int:
        """Bytes of so many numbers of keys and of values, of whole blocks."""
        key, value = (BLOCKS[number] for number in self.ggml_types)
        return keys * key[1] // key[0] + values * value[1] // value[0]

    def flash_on(self, on_gpu: bool, texts: int = 1) -> bool | None:
        """Whether flash attention is wanted where so many texts share the cells; None leaves it to
        llama.cpp."""
        if self.flash_attention != AUTO:
            return self.flash_attention == ON
        if is_quantized(self.type_v):
            return True
        # On a CPU it mostly makes the batches of one text slower: a quarter at 1,000 tokens of
        # context. But it skips what a token does not see: with 16 texts of 200 tokens a step takes
        # 0.55 to 0.6 times as long.
        return None if on_gpu or texts >= MANY_TEXTS else False


USUAL_CACHE = CacheSettings()
"""What a cache is like unless something else is asked for."""


@dataclass(frozen=True, slots=True)
class CacheShape:
    """The numbers that one token takes in the cache."""

    keys: tuple[int, ...]
    """Of each layer; 0 for a layer without a cache."""
    values: tuple[int, ...]
    key_widths: tuple[int, ...]
    """Numbers of one head's key; layers with a window may have another width."""
    value_widths: tuple[int, ...]
    is_latent: bool
    """Whether keys and values are read from the same numbers (MLA)."""

    def layer_bytes(self, settings: CacheSettings) -> list[int]:
        """Bytes that one token takes in each layer."""
        return [
            settings.bytes_of(keys, values)
            for keys, values in zip(self.keys, self.values, strict=True)
        ]

    def token_bytes(self, settings: CacheSettings) -> int:
        """Bytes that one token takes in all layers."""
        return sum(self.layer_bytes(settings))


def is_quantized(cache_type: str) -> bool:
    """Whether numbers of this format share a scale with their neighbours."""
    return BLOCKS[_GGML_TYPES[cache_type]][0] > 1


def cache_shape(header: GgufHeader) -> CacheShape:
    """The shape of a model's cache. Windowed layers count in full: the target keeps all their
    tokens, so that drafts can be taken back."""
    own = HeaderKeys(header)
    heads = own.each_layer("attention.head_count")
    key_heads = own.each_layer("attention.head_count_kv")
    if own.get("attention.head_count_kv") is None:
        key_heads = heads
    every = own.number("full_attention_interval")
    if every:
        key_heads = [0 if place % every else count for place, count in enumerate(key_heads, 1)]
    shared = own.number("attention.shared_kv_layers")
    if shared:
        own_cache = max(0, len(key_heads) - shared)
        key_heads = [*key_heads[:own_cache], *[0] * (len(key_heads) - own_cache)]
    usual = own.number("embedding_length") // max(1, *heads)
    key_widths = _widths(own, "attention.key_length", usual)
    value_widths = _widths(own, "attention.value_length", usual)
    is_latent = bool(own.number("attention.key_length_mla"))
    values = [0 if is_latent else count * max(value_widths) for count in key_heads]
    return CacheShape(
        tuple(count * max(key_widths) for count in key_heads),
        tuple(values),
        key_widths,
        value_widths,
        is_latent,
    )


def _widths(own: HeaderKeys, key: str, usual: int) -> tuple[int, ...]:
    full = own.number(key) or usual
    windowed = own.number(f"{key}_swa") or full
    return (full,) if windowed == full else (full, windowed)


def check_cache(header: GgufHeader, settings: CacheSettings) -> None:
    """Raises UsageError when llama.cpp cannot make such a cache for the model."""
    name, shape = header.path.name, cache_shape(header)
    if settings.is_usual:
        return
    if not any(shape.keys):
        raise UsageError(
            f"{name} ({header.architecture}) has no KV cache, so its numbers cannot be chosen: "
            "leave out --cache-type-k and --cache-type-v."
        )
    if shape.is_latent and settings.type_k != settings.type_v:
        raise UsageError(
            f"{name} ({header.architecture}) keeps keys and values in the same numbers: "
            f"--cache-type-k {settings.type_k} needs --cache-type-v {settings.type_k}."
        )
    if is_quantized(settings.type_v):
        _check_flash(header, settings)
    widths = ((settings.type_k, shape.key_widths), (settings.type_v, shape.value_widths))
    for cache_type, found in widths:
        block = BLOCKS[_GGML_TYPES[cache_type]][0]
        for width in found:
            if width % block:
                raise UsageError(
                    f"{name} has attention heads of {width} numbers, and a cache in {cache_type} "
                    f"needs a multiple of {block}: use f16 or bf16."
                )


def _check_flash(header: GgufHeader, settings: CacheSettings) -> None:
    if settings.flash_attention == OFF:
        raise UsageError(
            f"A cache with values in {settings.type_v} needs flash attention: use --flash-attn on, "
            "or --cache-type-v f16."
        )
    if header.architecture in _WITHOUT_FLASH:
        raise UsageError(
            f"{header.path.name} ({header.architecture}) cannot be computed with flash attention, "
            f"which a cache with values in {settings.type_v} needs: use --cache-type-v f16."
        )
