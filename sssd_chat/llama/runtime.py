"""The llama.cpp shared library: loading it once, its log, and what this build can do."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import functools
import importlib.metadata
import logging
import platform
from pathlib import Path
from typing import Any

import psutil

log = logging.getLogger(__name__)


_ERROR = 4
"""GGML_LOG_LEVEL_ERROR; 3 is a warning, 2 information, 1 debug."""

_recent: collections.deque[str] = collections.deque(maxlen=200)
_callback: Any = None


@functools.cache
def api() -> Any:
    """The ctypes binding of llama.h (module `llama_cpp.llama_cpp`), backends initialized and the
    log turned away from the terminal.

    The import takes a noticeable part of a second, so it waits until a model is wanted.
    """
    from llama_cpp import llama_cpp

    global _callback
    _callback = llama_cpp.llama_log_callback(_on_log)
    llama_cpp.llama_log_set(_callback, ctypes.c_void_p(0))
    llama_cpp.llama_backend_init()
    return llama_cpp


def _on_log(level: int, text: bytes, _user_data: object) -> None:
    line = text.decode("utf-8", "replace").rstrip("\n")
    if line:
        _recent.append(line)
        log.log(logging.WARNING if level == _ERROR else logging.DEBUG, "%s", line)


def forget_log() -> None:
    """Empties the memory of `recent_log`, before an operation whose messages matter. Whoever has
    taken the log meanwhile loses it."""
    api().llama_log_set(_callback, ctypes.c_void_p(0))
    _recent.clear()


def recent_log() -> list[str]:
    """The last lines that llama.cpp logged (at most 200), oldest first."""
    return list(_recent)


def build_features() -> str:
    """The CPU and GPU features that this build uses here, as llama.cpp prints them."""
    features: bytes = api().llama_print_system_info()
    return features.decode("utf-8", "replace").strip()


def llama_version() -> str:
    """The version of llama-cpp-python, which names that of llama.cpp."""
    return importlib.metadata.version("llama-cpp-python")


@functools.cache
def processor_name() -> str:
    """What the processor calls itself, or the kind of machine."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


@functools.cache
def physical_cores() -> int:
    """Cores this process may use, hyper-threads counted once: the best number of threads for
    llama.cpp, whose threads spin."""
    physical = psutil.cpu_count(logical=False) or psutil.cpu_count() or 1
    process = psutil.Process()
    allowed = len(process.cpu_affinity()) if hasattr(process, "cpu_affinity") else physical
    return max(1, min(physical, allowed))
