"""What a model is, as its header tells: enough to list it, to choose it and to see if it fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from sssd_chat.llama.chat_ability import why_no_chat
from sssd_chat.llama.gguf import GgufHeader
from sssd_chat.llama.header_keys import HeaderKeys
from sssd_chat.llama.kv_cache import USUAL_CACHE, CacheSettings, cache_shape
from sssd_chat.llama.recurrent import recurrent_bytes, shape_of
from sssd_chat.llama.shape import DraftShape
from sssd_chat.llama.working_memory import working_bytes


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Bytes that a model needs at one context length."""

    weights: int
    context: int
    """KV cache and recurrent state."""
    work: int
    """Working memory of a batch, and logits."""

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.context + self.work


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """What the header of a model file says, without what only llama.cpp needs."""

    title: str | None
    """The name that the file gives its model."""
    architecture: str
    parameters: int | None
    """Numbers in all tensors; None where the header was not read to its end."""
    experts: int
    """Experts of each layer; 0 without a mixture of experts."""
    experts_used: int
    """Experts that take part in one token."""
    quantization: str | None
    tokenizer: str | None
    """The kind of tokenizer, such as "gpt2/qwen2". Models with the same vocabulary share a
    datastore; whether they do is told by the fingerprint, which needs the whole vocabulary."""
    vocabulary_size: int | None
    trained_context: int | None
    """In tokens."""
    has_template: bool | None
    """Whether the file holds a chat template; None where that was not read."""
    bytes: int
    """Of all its files."""
    parts: int
    """Files that it is split into; 1 if it is not."""
    layers: int
    heads: int
    """Attention heads of a layer, the most of any."""
    width: int
    """Numbers in an embedding."""
    key_numbers: int
    """Numbers of a token's keys in the KV cache."""
    value_numbers: int
    """Numbers of its values."""
    state_bytes: int
    """Bytes of recurrent state, earlier versions included, whatever the context."""
    draft_shape: DraftShape
    """What drafts may look like."""
    licence: str | None
    """As the file states it."""
    unsuitable: str | None
    """Why it cannot chat, as the end of a sentence that begins with its name; None if it may."""

    def memory(self, context: int, cache_settings: CacheSettings = USUAL_CACHE) -> MemoryEstimate:
        """What it needs at `context` tokens, on a CPU or all on a GPU. An estimate: within a few
        percent for usual models."""
        work = working_bytes(
            self.vocabulary_size or 0,
            self.heads,
            self.width,
            context,
            has_flash=cache_settings.flash_on(on_gpu=False) is True,
        )
        a_token = cache_settings.bytes_of(self.key_numbers, self.value_numbers)
        cache = context * a_token + self.state_bytes
        return MemoryEstimate(self.bytes, cache, work)

    @property
    def is_whole(self) -> bool:
        """Whether all of the header was read, and the file is known to be whole."""
        return self.parameters is not None

    def is_like(self, other: ModelDescription) -> bool:
        """Whether both may be of the same model: what the beginning of a header says."""
        own, others = (
            (one.title, one.architecture, one.vocabulary_size, one.layers, one.width)
            for one in (self, other)
        )
        return own == others

    def as_json(self) -> dict[str, Any]:
        """All fields by name."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> ModelDescription:
        """What `as_json` gave. Raises KeyError, TypeError or ValueError when it is something
        else."""
        known = {field.name: values[field.name] for field in fields(cls)}
        return cls(**known | {"draft_shape": DraftShape(known["draft_shape"])})


def describe(header: GgufHeader) -> ModelDescription:
    """The description of a model whose header was read."""
    own = HeaderKeys(header)
    cache = cache_shape(header)
    has_template = "tokenizer.chat_template" in header.metadata
    return ModelDescription(
        title=_text(header, "general.name"),
        architecture=header.architecture,
        parameters=header.parameter_count if header.is_whole else None,
        experts=own.number("expert_count"),
        experts_used=own.number("expert_used_count"),
        quantization=header.quantization,
        tokenizer=_tokenizer(header),
        vocabulary_size=header.vocabulary_size,
        trained_context=header.context_length,
        has_template=has_template if header.is_whole or has_template else None,
        bytes=header.model_bytes,
        parts=header.parts,
        layers=own.number("block_count"),
        heads=max(own.each_layer("attention.head_count")),
        width=own.number("embedding_length"),
        key_numbers=sum(cache.keys),
        value_numbers=sum(cache.values),
        state_bytes=recurrent_bytes(header, 1),
        draft_shape=shape_of(header),
        licence=_licence(header),
        unsuitable=why_no_chat(header),
    )


def _tokenizer(header: GgufHeader) -> str | None:
    kind = _text(header, "tokenizer.ggml.model")
    rules = _text(header, "tokenizer.ggml.pre")
    return f"{kind}/{rules}" if kind and rules else kind


def _licence(header: GgufHeader) -> str | None:
    named = _text(header, "general.license.name")
    short = _text(header, "general.license")
    # "other" says that the name is to be looked at.
    return named if named and short in (None, "other") else short


def _text(header: GgufHeader, key: str) -> str | None:
    value = header.metadata.get(key)
    return value.strip() or None if isinstance(value, str) else None
