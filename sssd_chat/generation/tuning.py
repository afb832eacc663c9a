"""What `sssd-chat tune` found for a model on this machine: kept, and used where nothing else is
asked for."""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from sssd_chat.files import write_atomically
from sssd_chat.llama.kv_cache import CACHE_TYPES, FLASH_ATTENTION
from sssd_chat.llama.runtime import (
    build_features,
    llama_version,
    physical_cores,
    processor_name,
)

if TYPE_CHECKING:
    from sssd_chat.generation.loading import EngineSettings

_VERSION = 1
_MOST_THREADS = 1024


@dataclass(frozen=True, slots=True)
class Tuning:
    """How a model runs fastest here; what is None is as it is without tuning."""

    threads: int | None = None
    threads_batch: int | None = None
    flash_attention: str | None = None
    cache_type_k: str | None = None
    cache_type_v: str | None = None
    plain_before: float = 0.0
    """Tokens a second without drafts, as it is without tuning."""
    plain: float = 0.0
    drafted_before: float = 0.0
    """Tokens a second that drafting may be expected to reach."""
    drafted: float = 0.0
    measured_on: str = ""
    """The day, YYYY-MM-DD."""

    @property
    def changes(self) -> dict[str, str]:
        """What is other than without tuning, by the name of the option."""
        found = {
            "--threads": self.threads,
            "--threads-batch": self.threads_batch,
            "--flash-attn": self.flash_attention,
            "--cache-type-k": self.cache_type_k,
            "--cache-type-v": self.cache_type_v,
        }
        return {option: str(value) for option, value in found.items() if value is not None}

    def applied_to(self, settings: EngineSettings) -> EngineSettings:
        """The settings with what was tuned, where they leave it open. Threads go together, and so
        do the cache and its attention: half of a pair may not fit a value that the user chose."""
        if settings.threads is None and settings.threads_batch is None:
            settings = replace(settings, threads=self.threads, threads_batch=self.threads_batch)
        given = (settings.flash_attention, settings.cache_type_k, settings.cache_type_v)
        if given == (None, None, None):
            settings = replace(
                settings,
                flash_attention=self.flash_attention,
                cache_type_k=self.cache_type_k,
                cache_type_v=self.cache_type_v,
            )
        return settings


def tuned(settings: EngineSettings) -> EngineSettings:
    """The settings as a model is loaded with them."""
    tuning = load_tuning(settings)
    return settings if tuning is None else tuning.applied_to(settings)


def tuning_file(settings: EngineSettings) -> Path | None:
    """Where the tuning of a model is kept: one file for each model file, build of llama.cpp,
    machine and offloading. None where nothing is kept, or the model cannot be looked at."""
    if settings.tuning_folder is None:
        return None
    try:
        size = settings.path.stat().st_size
    except OSError:
        return None
    machine = (processor_name(), psutil.cpu_count(), physical_cores())
    key = (
        settings.path.name,
        size,
        llama_version(),
        build_features(),
        machine,
        settings.gpu_layers,
        settings.rpc_servers,
    )
    return settings.tuning_folder / f"{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.json"


def load_tuning(settings: EngineSettings) -> Tuning | None:
    """What was found for the model of the settings; None when nothing was, or the file is
    damaged."""
    file = tuning_file(settings)
    if file is None:
        return None
    try:
        content = json.loads(file.read_bytes())
        if content["version"] != _VERSION:
            return None
        values = content["tuning"]
        tuning = Tuning(**{field.name: values[field.name] for field in fields(Tuning)})
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return tuning if _is_sound(tuning) else None


def _is_sound(tuning: Tuning) -> bool:
    threads = (tuning.threads, tuning.threads_batch)
    types = (tuning.cache_type_k, tuning.cache_type_v)
    rates = (tuning.plain_before, tuning.plain, tuning.drafted_before, tuning.drafted)
    return (
        all(one is None or (type(one) is int and 0 < one <= _MOST_THREADS) for one in threads)
        and all(one is None or one in CACHE_TYPES for one in types)
        and tuning.flash_attention in (None, *FLASH_ATTENTION)
        and all(type(one) is float for one in rates)
        and isinstance(tuning.measured_on, str)
    )


def save_tuning(settings: EngineSettings, tuning: Tuning) -> Path | None:
    """Keeps what was found in place of what was known; the file. Raises OSError."""
    file = tuning_file(settings)
    if file is not None:
        content = {"version": _VERSION, "model": settings.path.name, "tuning": asdict(tuning)}
        write_atomically(file, json.dumps(content).encode())
    return file


def forget_tuning(settings: EngineSettings) -> bool:
    """Drops what was found for the model; whether there was anything. Raises OSError."""
    file = tuning_file(settings)
    if file is None:
        return False
    with contextlib.suppress(FileNotFoundError):
        file.unlink()
        return True
    return False
