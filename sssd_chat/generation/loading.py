"""From a GGUF file to an engine that can answer."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path

from sssd_chat.generation.cost import StepCost
from sssd_chat.generation.engine import MAX_DRAFT, Engine
from sssd_chat.generation.probe import probe
from sssd_chat.llama.library import build_features
from sssd_chat.llama.model import LoadCancelled, Model, Progress
from sssd_chat.llama.target import Target, TargetSequence, TargetSettings

__all__ = ["EngineSettings", "LoadCancelled", "LoadedEngine", "Progress", "State", "load_engine"]

State = TargetSequence
"""What a conversation holds of the real target."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Which model runs, and how."""

    path: Path
    context_length: int | None = None
    """Tokens; None for what the model was trained for, at most 8192."""
    threads: int | None = None
    """None for the number of physical cores."""
    gpu_layers: int | None = None
    """None offloads all layers where the build can."""
    sequences: int = 1
    """Conversations at once."""
    cost_folder: Path | None = None
    """Where measured step costs are kept; None for nowhere."""


@dataclass(slots=True)
class LoadedEngine:
    """An engine with the model and the context that it stands on. Close it when done."""

    model: Model
    target: Target
    engine: Engine[TargetSequence]
    cost_file: Path | None

    def save_cost(self) -> None:
        """Keeps what was learned about step costs; a disk that refuses is only logged, since the
        next start measures again."""
        if self.cost_file is None or not self.engine.cost.is_known:
            return
        try:
            self.engine.cost.save(self.cost_file)
        except OSError as error:
            log.warning("The step costs could not be kept in %s: %s", self.cost_file, error)

    def close(self) -> None:
        """Keeps the step costs and frees everything."""
        self.save_cost()
        self.target.close()
        self.model.close()


def load_engine(settings: EngineSettings, progress: Progress | None = None) -> LoadedEngine:
    """Loads the model and measures what a step costs, if that is not known yet (under a second).

    Raises UserError when the model cannot be used, LoadCancelled when `progress` returned False.
    """
    model = Model(settings.path, gpu_layers=settings.gpu_layers, progress=progress)
    try:
        target = Target(
            model, TargetSettings(settings.context_length, settings.threads, settings.sequences)
        )
    except BaseException:
        model.close()
        raise
    cost_file = _cost_file(settings, model, target)
    largest = MAX_DRAFT + settings.sequences
    cost = StepCost.load(cost_file, largest) if cost_file else StepCost(largest)
    engine = Engine(target, model.vocabulary, cost)
    if target.can_verify_trees:
        probe(target, cost)
    loaded = LoadedEngine(model, target, engine, cost_file)
    loaded.save_cost()
    return loaded


def _cost_file(settings: EngineSettings, model: Model, target: Target) -> Path | None:
    """One file for each model file, build of llama.cpp, offloading and number of threads."""
    if settings.cost_folder is None:
        return None
    layers = settings.gpu_layers if model.on_gpu else 0
    key = "\n".join(
        [
            model.path.name,
            str(model.header.file_bytes),
            build_features(),
            str(layers),
            str(target.threads),
        ]
    )
    return settings.cost_folder / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.json"
