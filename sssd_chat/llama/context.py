"""Making a context of a loaded model: its KV cache and the room in which batches are computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sssd_chat.errors import UserError
from sssd_chat.llama.kv_cache import CacheSettings
from sssd_chat.llama.model import Model, OutOfMemory, is_about_memory
from sssd_chat.llama.runtime import api, forget_log, recent_log


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """What a context is to be like (llama_context_params)."""

    context_length: int
    """Tokens of each conversation."""
    cells: int
    """Tokens of all conversations together."""
    sequence_ids: int
    """Ids that llama.cpp is to tell apart: conversations, and paths through their trees."""
    batch_tokens: int
    """Most tokens of one batch."""
    threads: int
    """For one token at a time."""
    threads_batch: int
    """For prompts and drafts."""
    cache: CacheSettings
    texts: int
    """Conversations that share the cells."""
    is_unified: bool
    """Whether all ids share the cells, as trees need it; otherwise each id has its part."""
    states_kept: int
    """Earlier versions of a recurrent state, one a token, that are kept of each conversation."""


def make_context(model: Model, settings: ContextSettings) -> Any:
    """A new llama_context, to be freed with llama_free. Raises UserError when it cannot be had."""
    lib = api()
    params = lib.llama_context_default_params()
    params.n_ctx = settings.cells
    params.n_batch = settings.batch_tokens
    params.n_ubatch = settings.batch_tokens
    params.n_seq_max = settings.sequence_ids
    params.n_threads = settings.threads
    params.n_threads_batch = settings.threads_batch
    params.type_k, params.type_v = settings.cache.ggml_types
    params.flash_attn_type = _flash_type(settings.cache.flash_on(model.on_gpu, settings.texts))
    params.kv_unified = settings.is_unified
    params.n_rs_seq = settings.states_kept
    params.swa_full = True
    params.no_perf = True
    forget_log()
    context = lib.llama_init_from_model(model.pointer, params)
    if not context:
        told = _why_not_made(model, settings)
        raise OutOfMemory(told) if is_about_memory(" ".join(recent_log())) else UserError(told)
    return context


def _flash_type(wanted: bool | None) -> int:
    lib = api()
    if wanted is None:
        return int(lib.LLAMA_FLASH_ATTN_TYPE_AUTO)
    return int(lib.LLAMA_FLASH_ATTN_TYPE_ENABLED if wanted else lib.LLAMA_FLASH_ATTN_TYPE_DISABLED)


def _why_not_made(model: Model, settings: ContextSettings) -> str:
    reason = next((line for line in reversed(recent_log()) if "failed" in line), "")
    return (
        f"A context of {settings.context_length} tokens could not be made for {model.path.name}; "
        f"a shorter one (--ctx) may fit. {reason}".strip()
    )
