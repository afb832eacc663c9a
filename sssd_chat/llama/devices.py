"""The processors that this build of llama.cpp can compute on (ggml_backend_dev_*)."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from typing import Any

from sssd_chat.llama.runtime import api, build_features

_KINDS = ("CPU", "GPU", "integrated GPU", "accelerator")
"""By ggml_backend_dev_type."""


@dataclass(frozen=True, slots=True)
class Device:
    """One of them."""

    name: str
    """As llama.cpp calls it, such as "CPU" or "CUDA0"."""
    description: str
    """The processor's own name."""
    kind: str
    """CPU, GPU, integrated GPU, or accelerator."""
    free: int
    """Bytes of its memory that are free; 0 where it does not tell."""
    total: int
    """Bytes of its memory."""

    @property
    def is_gpu(self) -> bool:
        """Whether layers can be offloaded to it."""
        return "GPU" in self.kind


def devices() -> list[Device]:
    """All of them, the CPU among them."""
    lib = _functions()
    if lib is None:
        return []
    found = []
    for number in range(lib.ggml_backend_dev_count()):
        device = lib.ggml_backend_dev_get(number)
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        lib.ggml_backend_dev_memory(device, ctypes.byref(free), ctypes.byref(total))
        found.append(
            Device(
                _text(lib.ggml_backend_dev_name(device)),
                _text(lib.ggml_backend_dev_description(device)),
                _kind(lib.ggml_backend_dev_type(device)),
                free.value,
                total.value,
            )
        )
    return found


def has_gpu() -> bool:
    """Whether layers can be offloaded to a device that is present. Asks no device, so it is quick;
    a build for servers of llama.cpp (RPC) has none before a server is added."""
    lib = _functions()
    if lib is None:
        return False
    kinds = (
        lib.ggml_backend_dev_type(lib.ggml_backend_dev_get(number))
        for number in range(lib.ggml_backend_dev_count())
    )
    return any("GPU" in _kind(kind) for kind in kinds)


def features() -> dict[str, list[str]]:
    """What each backend of this build uses here, e.g. {"CPU": ["AVX2", "FMA"]}; a feature with a
    value keeps it."""
    found: dict[str, list[str]] = {}
    backend = "CPU"
    for entry in build_features().split("|"):
        named = re.match(r"\s*(\w+)\s*:\s*", entry)
        if named:
            backend = named[1]
            entry = entry[named.end() :]
        name, _, value = entry.strip().partition(" = ")
        if name and value != "0":
            found.setdefault(backend, []).append(name if value in ("", "1") else f"{name}={value}")
    return found


def _kind(number: int) -> str:
    return _KINDS[number] if 0 <= number < len(_KINDS) else "other"


def _functions() -> Any:
    """The library with the types of the functions that are used; None where it lacks them."""
    lib = api()._lib
    device = [ctypes.c_void_p]
    size = ctypes.POINTER(ctypes.c_size_t)
    try:
        for name, result, arguments in (
            ("count", ctypes.c_size_t, []),
            ("get", ctypes.c_void_p, [ctypes.c_size_t]),
            ("name", ctypes.c_char_p, device),
            ("description", ctypes.c_char_p, device),
            ("type", ctypes.c_int, device),
            ("memory", None, [*device, size, size]),
        ):
            function = getattr(lib, f"ggml_backend_dev_{name}")
            function.restype, function.argtypes = result, arguments
    except AttributeError:
        return None
    return lib


def _text(value: bytes | None) -> str:
    return (value or b"").decode("utf-8", "replace").strip()
