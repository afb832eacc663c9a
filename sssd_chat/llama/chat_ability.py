"""Which model files cannot be chatted with, and why, in the words that a user reads.

Nearly all of it is in the header, so that nothing is loaded in vain: llama.cpp loads most of these
files, and some of them end the process at their first token.
"""

from __future__ import annotations

from typing import Any

from sssd_chat.errors import UserError
from sssd_chat.llama.gguf import GgufHeader
from sssd_chat.llama.header_keys import HeaderKeys
from sssd_chat.llama.runtime import api

_TO_DO = "choose a chat model"

_SENSES = frozenset({"clip"})
_EMBEDDERS = frozenset(
    [
        *("bert", "eurobert", "gemma-embedding", "jina-bert-v2", "jina-bert-v3", "llama-embed"),
        *("modern-bert", "neo-bert", "nomic-bert", "nomic-bert-moe", "t5encoder"),
    ]
)
_ENCODER_DECODERS = frozenset({"t5"})
_DIFFUSION = frozenset({"dream", "llada", "llada-moe", "rnd1"})
_SPEAKERS = frozenset({"pockettts", "qwen3tts", "wavtokenizer-dec"})
_DRAFT_HEADS = frozenset({"dflash", "eagle3", "gemma4-assistant"})
_STEERING = "controlvector"

_TO_RANK = 4
"""Pooling of a reranker (LLAMA_POOLING_TYPE_RANK); other kinds than none make embeddings."""
_LEAST_TENSORS = 3
"""Every layer of a whole model has more than so many."""


def why_no_chat(header: GgufHeader) -> str | None:
    """Why a model cannot chat, as the end of a sentence that begins with its name; None if it
    may."""
    reason = _reason(header)
    return None if reason is None else f"{reason}: {_TO_DO}"


def refuse_what_cannot_chat(header: GgufHeader) -> None:
    """Raises UserError for a file that its header tells cannot chat."""
    reason = why_no_chat(header)
    if reason is not None:
        raise UserError(f"{header.path.name} {reason}.")


def refuse_what_llama_cpp_knows(header: GgufHeader, model: Any) -> None:
    """Raises UserError for a loaded llama_model that llama.cpp takes for something else than a
    chat model, if the header did not tell."""
    lib, name = api(), header.path.name
    if lib.llama_model_has_encoder(model) or not lib.llama_model_has_decoder(model):
        raise UserError(f"{name} {_encoder_decoder(header.architecture)}: {_TO_DO}.")
    if lib.llama_model_is_diffusion(model):
        raise UserError(f"{name} {_diffusion(header.architecture)}: {_TO_DO}.")


def _reason(header: GgufHeader) -> str | None:
    return _by_kind(header) or _by_architecture(header.architecture) or _by_keys(header)


def _by_kind(header: GgufHeader) -> str | None:
    kind = header.metadata.get("general.type")
    if header.architecture in _SENSES or kind == "mmproj":
        return "is the part of another model that sees or hears, not a chat model"
    if kind == "adapter":
        return "is an adapter (LoRA) for another model, not a model"
    if header.architecture == _STEERING:
        return "is a control vector for another model, not a model"
    if kind == "imatrix":
        return "holds measurements for quantizing, not a model"
    if HeaderKeys(header).number("pooling_type") == _TO_RANK:
        return f"is a reranker ({header.architecture}), which scores texts and cannot write any"
    return None


def _by_architecture(name: str) -> str | None:
    if name in _EMBEDDERS:
        return _embedding(name)
    if name in _ENCODER_DECODERS:
        return _encoder_decoder(name)
    if name in _DIFFUSION:
        return _diffusion(name)
    if name in _SPEAKERS:
        return f"is the part of a speech model ({name}) that makes sound, and cannot write text"
    if name in _DRAFT_HEADS:
        return f"is a draft head ({name}) for another model, not a model"
    return None


def _by_keys(header: GgufHeader) -> str | None:
    own = HeaderKeys(header)
    if own.number("pooling_type") or own.get("attention.causal") is False:
        return _embedding(header.architecture)
    least = _LEAST_TENSORS * own.number("block_count")
    if own.number("nextn_predict_layers") and header.tensor_count < least:
        return f"holds only the draft head of a model ({header.architecture})"
    if not header.vocabulary_size:
        return "holds no vocabulary, so it cannot be chatted with"
    return None


def _embedding(architecture: str) -> str:
    return f"is an embedding model ({architecture}), which cannot write text"


def _encoder_decoder(architecture: str) -> str:
    return f"is an encoder-decoder model ({architecture}), not a decoder-only chat model"


def _diffusion(architecture: str) -> str:
    return f"is a diffusion model ({architecture}), which does not write one token after the other"
