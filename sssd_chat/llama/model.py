"""Loading a GGUF file, and what the model says of itself."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from sssd_chat.errors import UserError
from sssd_chat.llama.chat_ability import refuse_what_cannot_chat, refuse_what_llama_cpp_knows
from sssd_chat.llama.devices import has_gpu
from sssd_chat.llama.gguf import GgufHeader, read_header
from sssd_chat.llama.kv_cache import USUAL_CACHE, CacheSettings, cache_shape
from sssd_chat.llama.recurrent import recurrent_bytes
from sssd_chat.llama.runtime import api, forget_log, recent_log
from sssd_chat.llama.vocabulary import Vocabulary
from sssd_chat.text import parameter_count

_PLAIN_SIZE = re.compile(r"\?B|\d+(\.\d+)?[KMBT]")

ALL_LAYERS = -1
"""Value of `gpu_layers` that offloads everything."""

Progress = Callable[[float], bool]
"""Called with 0 to 1 while a model is read; returning False stops the loading."""


class OutOfMemory(UserError):
    """The memory of the computer or of its GPU did not take the model or its context."""


class LoadCancelled(Exception):
    """The progress callback asked to stop loading."""


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Bytes that a model needs at a context length."""

    weights: int
    context: int

    @property
    def total(self) -> int:
        """Weights and KV cache together, in bytes."""
        return self.weights + self.context


class Model:
    """A loaded model. Close it after every context made from it."""

    def __init__(
        self,
        path: Path,
        *,
        gpu_layers: int | None = None,
        progress: Progress | None = None,
        header: GgufHeader | None = None,
    ) -> None:
        """Loads `path`. `gpu_layers` None offloads all layers where the build can, 0 none; `header`
        is that of the file, where it was read already.

        Raises UserError when the file is missing, damaged, not one of a chat model, of an
        unsupported architecture or too large for the memory; LoadCancelled when `progress`
        returned False.
        """
        self.header = header or read_header(path)
        refuse_what_cannot_chat(self.header)
        self.path = path
        self.on_gpu = has_gpu() and gpu_layers != 0
        if not self.on_gpu:
            _check_memory(path, MemoryNeed(self.header.model_bytes, 0))
        self._api = api()
        self.pointer = self._load(gpu_layers, progress)
        try:
            refuse_what_llama_cpp_knows(self.header, self.pointer)
            self.vocabulary = Vocabulary(self.pointer)
        except BaseException:
            self.close()
            raise

    def _load(self, gpu_layers: int | None, progress: Progress | None) -> Any:
        lib = self._api
        params = lib.llama_model_default_params()
        params.n_gpu_layers = ALL_LAYERS if gpu_layers is None else gpu_layers
        stopped = False

        def on_progress(value: float, _user_data: object) -> bool:
            nonlocal stopped
            if progress is not None and not progress(value):
                stopped = True
            return not stopped

        callback = lib.llama_progress_callback(on_progress)
        params.progress_callback = callback
        pointer = _read(self.path, params)
        if stopped:
            if pointer:
                lib.llama_model_free(pointer)
            raise LoadCancelled
        if not pointer:
            raise _not_loaded(self.path, recent_log())
        return pointer

    def close(self) -> None:
        """Frees the weights."""
        if self.pointer:
            self._api.llama_model_free(self.pointer)
            self.pointer = None

    def metadata(self, key: str) -> str:
        """A metadata value as text; empty when the file has none."""
        room = 1024
        while True:
            buffer = ctypes.create_string_buffer(room)
            length: int = self._api.llama_model_meta_val_str(
                self.pointer, key.encode(), buffer, room
            )
            if length < 0:
                return ""
            if length < room:
                return buffer.raw[:length].decode("utf-8", "replace")
            room = length + 1

    @property
    def name(self) -> str:
        """The name that the file gives itself, or the file's."""
        return self.metadata("general.name") or self.path.stem

    @property
    def description(self) -> str:
        """Architecture, size and quantization in a few words (llama_model_desc)."""
        buffer = ctypes.create_string_buffer(256)
        self._api.llama_model_desc(self.pointer, buffer, 256)
        words = buffer.value.decode("utf-8", "replace").split(" ")
        # llama.cpp guesses the size from the number of layers: it takes SmolLM2-135M for 256M. A
        # label like 30B.A3B says more than a count, and comes from an architecture of its own.
        if len(words) > 1 and _PLAIN_SIZE.fullmatch(words[1]):
            words[1] = parameter_count(self.parameters)
        return " ".join(words)

    @property
    def chat_template(self) -> str | None:
        """The Jinja source that turns messages into a prompt, where the file holds one."""
        text: bytes | None = self._api.llama_model_chat_template(self.pointer, None)
        return text.decode("utf-8", "replace") if text else None

    @property
    def trained_context(self) -> int:
        """Tokens of context that the model was trained for."""
        return int(self._api.llama_model_n_ctx_train(self.pointer))

    @property
    def parameters(self) -> int:
        """Number of weights."""
        return int(self._api.llama_model_n_params(self.pointer))

    @property
    def window(self) -> int:
        """Size of the attention window in tokens; 0 where every layer sees everything."""
        return int(self._api.llama_model_n_swa(self.pointer))

    @property
    def can_roll_back(self) -> bool:
        """Whether tokens can be taken back out of the memory: not from a recurrent state."""
        lib = self._api
        return not (
            lib.llama_model_is_recurrent(self.pointer) or lib.llama_model_is_hybrid(self.pointer)
        )

    def context_bytes(self, context_length: int, cache: CacheSettings = USUAL_CACHE) -> int:
        """Bytes of a KV cache for so many tokens."""
        return context_length * cache_shape(self.header).token_bytes(cache)

    def check_context(
        self,
        context_length: int,
        cells: int,
        cache: CacheSettings = USUAL_CACHE,
        sequences: int = 1,
    ) -> None:
        """Raises UserError when `sequences` texts of `context_length` tokens, `cells` tokens in
        all, cannot be had."""
        if context_length > self.trained_context > 0:
            raise UserError(
                f"A context of {context_length} tokens is more than the {self.trained_context} "
                f"that {self.path.name} was trained for: use --ctx {self.trained_context} or less."
            )
        if not self.on_gpu:
            states = recurrent_bytes(self.header, sequences)
            need = MemoryNeed(0, self.context_bytes(cells, cache) + states)
            _check_memory(self.path, need)


@contextlib.contextmanager
def open_vocabulary(path: Path) -> Iterator[Vocabulary]:
    """The vocabulary of a model file, without its weights: read in a moment and with little memory,
    whatever the size of the model. It must not be used after the block.

    Raises UserError when the file is missing, damaged, of an unsupported architecture, or holds no
    vocabulary.
    """
    read_header(path)
    lib = api()
    params = lib.llama_model_default_params()
    params.vocab_only = True
    pointer = _read(path, params)
    if not pointer:
        raise _not_loaded(path, recent_log())
    try:
        if lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(pointer)) == 0:
            raise UserError(f"{path.name} holds no vocabulary; text cannot be prepared for it.")
        yield Vocabulary(pointer)
    finally:
        lib.llama_model_free(pointer)


def _read(path: Path, params: Any) -> Any:
    """The llama_model pointer; null when it could not be loaded, and `recent_log` tells why."""
    forget_log()
    return api().llama_model_load_from_file(os.fsencode(path), params)


def _check_memory(path: Path, need: MemoryNeed) -> None:
    free = psutil.virtual_memory().available + psutil.swap_memory().free
    if need.total > free:
        what = "a shorter context (--ctx)" if need.context else "a smaller model or quantization"
        raise UserError(
            f"Not enough memory for {path.name}: it needs about {_gigabytes(need.total)}, and "
            f"{_gigabytes(free)} are free: use {what}."
        )


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB"


def _not_loaded(path: Path, lines: list[str]) -> UserError:
    text = "\n".join(lines)
    unknown = re.search(r"unknown model architecture: '([^']*)'", text)
    if unknown:
        return UserError(
            f"{path.name} is of the architecture '{unknown[1]}', which this llama.cpp does not "
            "know: choose another model, or a newer version of sssd-chat."
        )
    if is_about_memory(text):
        return OutOfMemory(
            f"Not enough memory for {path.name}: use a smaller model or quantization"
            f"{' or fewer --gpu-layers' if has_gpu() else ''}."
        )
    reason = re.search(r"error loading model[^:]*: (.*)", text)
    detail = reason[1] if reason else "llama.cpp gave no reason"
    return UserError(f"{path.name} could not be loaded: {detail}.")


def is_about_memory(log: str) -> bool:
    """Whether llama.cpp says that it could not get the memory it asked for."""
    return bool(re.search(r"unable to allocate|failed to allocate|out of memory|bad_alloc", log))
