"""From a GGUF file to an engine that can answer."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass, replace
from pathlib import Path

from sssd_chat.datastore.store import Datastore
from sssd_chat.datastore.vocabularies import note_model
from sssd_chat.drafting import Drafter, Experience, SssdDrafter
from sssd_chat.drafting.sources.stored import StoredSource
from sssd_chat.generation.cost import StepCost
from sssd_chat.generation.engine import MAX_DRAFT, Engine
from sssd_chat.generation.forgetting import forgotten_at
from sssd_chat.generation.opening import open_model
from sssd_chat.generation.probe import probe
from sssd_chat.generation.tuning import tuned
from sssd_chat.llama.devices import has_gpu
from sssd_chat.llama.gguf import read_header
from sssd_chat.llama.kv_cache import AUTO, MANY_TEXTS, USUAL_TYPE, CacheSettings
from sssd_chat.llama.model import ALL_LAYERS, LoadCancelled, Model, Progress
from sssd_chat.llama.runtime import build_features, physical_cores
from sssd_chat.llama.sequence import TargetSequence
from sssd_chat.llama.target import STREAMS_FROM, Target

__all__ = [
    "EngineSettings",
    "LoadCancelled",
    "LoadedEngine",
    "Progress",
    "State",
    "load_engine",
    "step_cost_file",
]

State = TargetSequence
"""What a conversation holds of the real target."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Which model runs, and how."""

    path: Path
    context_length: int | None = None
    """Tokens of each conversation; None for what the model was trained for, at most 8192."""
    threads: int | None = None
    """For one token at a time; None for the number of physical cores."""
    gpu_layers: int | None = None
    """None offloads all layers that fit, where the build can."""
    sequences: int = 1
    """Conversations at once."""
    cells: int | None = None
    """Tokens that all conversations together may hold; None for `context_length` each."""
    is_streamed: bool | None = None
    """Whether each conversation has its own part of the cells; None for what is faster."""
    reads_ahead: bool = False
    """Whether prompts are to be read while they are typed."""
    cost_folder: Path | None = None
    """Where measured step costs are kept; None for nowhere."""
    experience_folder: Path | None = None
    """Where the drafter's experience is kept; None for nowhere."""
    datastore_folder: Path | None = None
    """Where the datastores are, one for each vocabulary; None for none."""
    threads_batch: int | None = None
    """For prompts and drafts; None for as many as `threads`."""
    flash_attention: str | None = None
    """One of FLASH_ATTENTION; None for the first, which chooses."""
    cache_type_k: str | None = None
    """One of CACHE_TYPES, for the keys of the KV cache; None for f16."""
    cache_type_v: str | None = None
    """The same for the values."""
    tuning_folder: Path | None = None
    """Where it is kept how models run fastest here; None for nowhere."""
    rpc_servers: tuple[str, ...] = ()
    """HOST:PORT of llama.cpp's servers that take layers, as GPUs do."""

    @property
    def cache(self) -> CacheSettings:
        """What the KV cache consists of."""
        return CacheSettings(
            self.cache_type_k or USUAL_TYPE,
            self.cache_type_v or USUAL_TYPE,
            self.flash_attention or AUTO,
        )


@dataclass(slots=True)
class LoadedEngine:
    """An engine with the model and the context that it stands on. Close it when done."""

    model: Model
    target: Target
    engine: Engine[TargetSequence]
    experience: Experience
    """What drafting learned about this model; shared by all its conversations."""
    cost_file: Path | None
    experience_file: Path | None
    notice: str = ""
    """Something about the loading that the user should know, in one sentence."""
    state_key: str = ""
    """What a kept KV state must agree with: the model file and the kind of context."""
    datastore: Datastore | None = None
    """What drafts come from besides the conversation."""
    _forgotten: int = 0
    """The state of `forgotten_at` that the experience agrees with."""

    def new_drafter(self) -> Drafter:
        """A drafter for a new conversation."""
        source = None if self.datastore is None else StoredSource(self.datastore)
        return SssdDrafter(self.experience, source, self.model.vocabulary.is_end_of_generation)

    def save(self) -> None:
        """Keeps what was learned about step costs and drafts. A disk that refuses is only logged:
        the next start learns again."""
        try:
            if self.cost_file is not None and self.engine.cost.is_known:
                self.engine.cost.save(self.cost_file)
            if self.experience_file is not None and self.target.shape.can_draft:
                self._forget_what_was_forgotten(self.experience_file.parent)
                self.experience.save(self.experience_file)
        except OSError as error:
            log.warning("What was learned could not be kept: %s", error)

    def _forget_what_was_forgotten(self, folder: Path) -> None:
        """Another program may have been told to forget a text that is part of the experience."""
        if (stamp := forgotten_at(folder)) != self._forgotten:
            self.experience.forget_texts()
            self._forgotten = stamp

    def close(self) -> None:
        """Keeps what was learned and frees everything."""
        self.save()
        if self.datastore is not None:
            self.datastore.close()
        self.target.close()
        self.model.close()


def load_engine(settings: EngineSettings, progress: Progress | None = None) -> LoadedEngine:
    """Loads the model and measures what a step costs, if that is not known yet (under a second).

    Raises UserError when the model cannot be used, LoadCancelled when `progress` returned False.
    """
    header = read_header(settings.path)
    settings = tuned(settings)
    opened = open_model(settings, header, progress)
    model, target = opened.model, opened.target
    if opened.layers not in (0, ALL_LAYERS):
        # What fits differs from day to day, and so does what a step costs.
        settings = replace(settings, gpu_layers=opened.layers)
    cost_file = step_cost_file(settings, model.header.model_bytes)
    largest = MAX_DRAFT + settings.sequences
    cost = StepCost.load(cost_file, largest) if cost_file else StepCost(largest)
    experience_file = _experience_file(settings, model)
    experience, notice = (
        Experience.load(experience_file) if experience_file else (Experience(), None)
    )
    engine = Engine(target, model.vocabulary, cost)
    if target.shape.can_draft:
        probe(target, cost)
    return LoadedEngine(
        model,
        target,
        engine,
        experience,
        cost_file,
        experience_file,
        " ".join(part for part in (opened.notice, notice) if part),
        _state_key(model, target),
        _datastore(settings, model, target),
        forgotten_at(settings.experience_folder) if settings.experience_folder else 0,
    )


def _datastore(settings: EngineSettings, model: Model, target: Target) -> Datastore | None:
    """One for each vocabulary; models that cannot be drafted for need none."""
    if settings.datastore_folder is None or not target.shape.can_draft:
        return None
    fingerprint = model.vocabulary.fingerprint
    note_model(settings.datastore_folder, fingerprint, str(model.path))
    return Datastore(settings.datastore_folder / fingerprint)


def _state_key(model: Model, target: Target) -> str:
    file = model.path.stat()
    return f"{model.path.name} {file.st_size} {file.st_mtime_ns} {target.state_kind}"


def step_cost_file(settings: EngineSettings, model_bytes: int) -> Path | None:
    """Where the step costs of a model, whose files have so many bytes, are kept: one file for each
    model file, build of llama.cpp, offloading, KV cache, its division and number of threads. Loads
    llama.cpp, not the model."""
    if settings.cost_folder is None:
        return None
    is_on_gpu = has_gpu() and settings.gpu_layers != 0
    key = (
        settings.path.name,
        model_bytes,
        build_features(),
        settings.gpu_layers if is_on_gpu else 0,
        settings.threads or physical_cores(),
        settings.threads_batch or settings.threads or physical_cores(),
        settings.cache,
        settings.is_streamed,
        settings.cells is None and settings.sequences >= STREAMS_FROM,
        settings.sequences >= MANY_TEXTS,
    )
    return settings.cost_folder / f"{_hash(key)}.json"


def _experience_file(settings: EngineSettings, model: Model) -> Path | None:
    """One file for each vocabulary and model."""
    if settings.experience_folder is None:
        return None
    name = f"{model.vocabulary.fingerprint}-{_hash((model.name, model.header.model_bytes))}"
    return settings.experience_folder / name


def _hash(key: tuple[object, ...]) -> str:
    return hashlib.sha256(repr(key).encode()).hexdigest()[:16]
