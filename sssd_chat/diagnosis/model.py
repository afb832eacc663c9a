"""The chosen model on this machine: what a step costs, and what drafting can gain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from sssd_chat.drafting.size import padded_sizes
from sssd_chat.generation.cost import StepCost
from sssd_chat.generation.engine import MAX_DRAFT
from sssd_chat.generation.loading import EngineSettings, load_engine, step_cost_file
from sssd_chat.generation.opening import as_loaded, offload_plan
from sssd_chat.generation.tuning import Tuning, load_tuning
from sssd_chat.llama.chat_ability import refuse_what_cannot_chat
from sssd_chat.llama.gguf import read_header
from sssd_chat.llama.kv_cache import CacheSettings
from sssd_chat.llama.offloading import OffloadPlan
from sssd_chat.models.description import ModelDescription, describe

_SHOWN = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
_PROBE_CONTEXT = 1024
"""Tokens; enough for a probe, and made in a moment."""


@dataclass(frozen=True, slots=True)
class CostPoint:
    """One batch size."""

    tokens: int
    seconds: float
    ratio: float
    """Of the time of a single token."""
    is_measured: bool
    """Rather than read off a line between its neighbours."""

    @property
    def gain(self) -> float:
        """Speed-up when every token of the batch but the first was a right guess."""
        return self.tokens / self.ratio


@dataclass(frozen=True, slots=True)
class ModelReport:
    """The model, and its step costs."""

    path: Path
    description: ModelDescription
    threads: int | None
    """As asked for or tuned; None for all physical cores."""
    threads_batch: int | None
    """For prompts and drafts; None for the same."""
    cache: CacheSettings
    tuning: Tuning | None
    """What `tune` found; None when it was not asked."""
    offload: OffloadPlan | None
    """What fits on the GPU now; None without one, or where that cannot be known."""
    points: tuple[CostPoint, ...]
    """Empty where nothing was measured."""
    was_probed: bool
    """Whether the costs were measured just now."""
    most_gain: float | None
    """The highest speed-up that any drafting can reach here: all guesses right."""
    least_probability: float | None
    """The chance from which on a guess pays, at the best size."""

    @property
    def read_bandwidth(self) -> float | None:
        """Bytes of weights a second that plain decoding reads; None where a token does not need all
        of them."""
        if not self.points or self.description.experts:
            return None
        return self.description.bytes / self.points[0].seconds


def look_at_model(settings: EngineSettings) -> ModelReport:
    """The report of a model, from the costs that are stored, or else from a short probe, whose
    results are stored. Raises UserError when the model cannot be used."""
    header = read_header(settings.path)
    refuse_what_cannot_chat(header)
    description = describe(header)
    tuning = load_tuning(settings)
    plan = offload_plan(settings, header)
    settings = as_loaded(settings, header)
    cost = _stored(settings, description)
    was_probed = False
    if not cost.is_known and description.draft_shape.can_draft:
        cost = _probed(settings)
        was_probed = True
    points = _points(cost) if cost.is_known else ()
    return ModelReport(
        settings.path,
        description,
        settings.threads,
        settings.threads_batch,
        settings.cache,
        tuning,
        plan if settings.gpu_layers != 0 else None,
        points,
        was_probed,
        max((point.gain for point in points), default=None),
        _least_probability(cost) if points else None,
    )


def _stored(settings: EngineSettings, description: ModelDescription) -> StepCost:
    file = step_cost_file(settings, description.bytes)
    return StepCost(MAX_DRAFT) if file is None else StepCost.load(file, MAX_DRAFT)


def _probed(settings: EngineSettings) -> StepCost:
    """Loads the model with a small context. Nothing but the step costs is written."""
    context = min(_PROBE_CONTEXT, settings.context_length or _PROBE_CONTEXT)
    loaded = load_engine(
        replace(settings, context_length=context, experience_folder=None, datastore_folder=None)
    )
    try:
        return loaded.engine.cost
    finally:
        loaded.close()


def _points(cost: StepCost) -> tuple[CostPoint, ...]:
    seconds = cost.seconds(1)
    measured = cost.measured_sizes()
    most = max(measured)
    return tuple(
        CostPoint(size, seconds[size], seconds[size] / seconds[1], size in measured)
        for size in _SHOWN
        if size <= min(most, cost.largest)
    )


def _least_probability(cost: StepCost) -> float:
    """With every guess as likely as the others: the lowest price of a further token over that of
    the first."""
    seconds = cost.seconds(1)
    padded = padded_sizes(seconds)
    most = max(2, min(max(cost.measured_sizes()), cost.largest))
    return min(
        1.0, min((seconds[padded[n]] / seconds[1] - 1) / (n - 1) for n in range(2, most + 1))
    )
