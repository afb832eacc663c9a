"""The machine, what runs on it, and the terminal."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
import time
from dataclasses import dataclass

import numpy as np
import psutil

from sssd_chat import __version__
from sssd_chat.llama.devices import Device, devices, features
from sssd_chat.llama.runtime import physical_cores, processor_name

_PACKAGES = (
    *("llama-cpp-python", "textual", "numpy", "pydivsufsort", "jinja2", "huggingface_hub"),
)
_COPIED = 1 << 26
_COPIES = 3


@dataclass(frozen=True, slots=True)
class Machine:
    """The hardware, as far as it matters for a model."""

    system: str
    processor: str
    logical_cores: int
    physical_cores: int
    threads: int
    """That a model uses unless it is told otherwise."""
    memory: int
    """Bytes."""
    free_memory: int
    copy_bandwidth: float
    """Bytes a second that one thread reads and writes when it copies memory."""
    devices: tuple[Device, ...]
    """What llama.cpp can compute on."""
    features: dict[str, list[str]]
    """What llama.cpp's build uses here, by backend."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """What the terminal says of itself."""

    is_terminal: bool
    name: str
    """TERM."""
    program: str
    """TERM_PROGRAM: the terminal itself, where it tells."""
    colours: str
    """none, 16, 256 or 16 million."""
    encoding: str
    columns: int
    rows: int
    inside: tuple[str, ...]
    """Multiplexers and connections in between: tmux, screen, ssh."""


def look_at_machine() -> Machine:
    """Looks, and copies some memory (about a tenth of a second)."""
    memory = psutil.virtual_memory()
    return Machine(
        f"{platform.system()} {platform.release()} {platform.machine()}",
        processor_name(),
        psutil.cpu_count() or 1,
        psutil.cpu_count(logical=False) or 1,
        physical_cores(),
        memory.total,
        memory.available,
        _copy_bandwidth(),
        tuple(devices()),
        features(),
    )


def look_at_terminal() -> Terminal:
    """What the environment tells; nothing is asked of the terminal itself."""
    size = shutil.get_terminal_size()
    inside = {"tmux": "TMUX", "screen": "STY", "ssh": "SSH_CONNECTION"}
    return Terminal(
        sys.stdout.isatty(),
        os.environ.get("TERM", ""),
        os.environ.get("TERM_PROGRAM", ""),
        _colours(),
        (sys.stdout.encoding or "").lower(),
        size.columns,
        size.lines,
        tuple(name for name, variable in inside.items() if os.environ.get(variable)),
    )


def versions() -> dict[str, str]:
    """Of this program, of Python and of the packages that matter; "missing" for what is not
    installed."""
    found = {"sssd-chat": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "missing"
    return found


def _colours() -> str:
    if os.environ.get("NO_COLOR"):
        return "none"
    if os.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "16 million"
    name = os.environ.get("TERM", "")
    if name in ("", "dumb"):
        return "none"
    return "256" if "256" in name else "16"


def _copy_bandwidth() -> float:
    source = np.ones(_COPIED, dtype=np.uint8)
    target = np.empty_like(source)
    best = float("inf")
    for _ in range(_COPIES):
        start = time.perf_counter()
        np.copyto(target, source)
        best = min(best, time.perf_counter() - start)
    return 2 * _COPIED / best
