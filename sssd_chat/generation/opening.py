"""A model and its context, by the settings: on the GPU as far as it fits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sssd_chat.generation.offloading import load_offloaded
from sssd_chat.generation.tuning import tuned
from sssd_chat.llama.devices import devices, has_gpu
from sssd_chat.llama.gguf import GgufHeader
from sssd_chat.llama.header_keys import HeaderKeys
from sssd_chat.llama.kv_cache import check_cache
from sssd_chat.llama.model import Model, Progress
from sssd_chat.llama.offloading import OffloadPlan, plan_offload
from sssd_chat.llama.rpc import add_servers
from sssd_chat.llama.target import Target, TargetSettings, usual_context

if TYPE_CHECKING:
    from sssd_chat.generation.loading import EngineSettings


@dataclass(frozen=True, slots=True)
class OpenModel:
    """A model with a context. Close the target first, then the model."""

    model: Model
    target: Target
    layers: int
    """On GPUs, as llama.cpp counts them; ALL_LAYERS for all."""
    notice: str
    """What the user should know of where the layers are; empty for nothing."""


def open_model(
    settings: EngineSettings, header: GgufHeader, progress: Progress | None = None
) -> OpenModel:
    """Loads the model and makes its context. Raises UserError when it cannot be used, LoadCancelled
    when `progress` returned False."""
    check_cache(header, settings.cache)
    add_servers(settings.rpc_servers)

    def load(layers: int | None) -> tuple[Model, Target]:
        model = Model(settings.path, gpu_layers=layers, progress=progress, header=header)
        try:
            return model, Target(model, target_settings(settings))
        except BaseException:
            model.close()
            raise

    if not has_gpu() or settings.gpu_layers == 0:
        model, target = load(settings.gpu_layers)
        return OpenModel(model, target, 0, "")
    plan = offload_plan(settings, header)
    all_layers = HeaderKeys(header).number("block_count") + 1
    offloaded = load_offloaded(load, settings.gpu_layers, plan, all_layers)
    return OpenModel(*offloaded.loaded, offloaded.layers, offloaded.notice)


def as_loaded(settings: EngineSettings, header: GgufHeader) -> EngineSettings:
    """The settings with what tuning and free memory would make of them now, as far as that can be
    told without loading. Raises UserError when a server does not answer."""
    settings = tuned(settings)
    add_servers(settings.rpc_servers)
    plan = offload_plan(settings, header)
    if settings.gpu_layers is None and plan is not None and not plan.is_whole:
        return replace(settings, gpu_layers=plan.layers)
    return settings


def offload_plan(settings: EngineSettings, header: GgufHeader) -> OffloadPlan | None:
    """How many layers fit on the GPUs; None when there are none, or it cannot be known."""
    trained = header.context_length or 0
    context = settings.context_length or usual_context(trained)
    cells = settings.cells or context * settings.sequences
    return plan_offload(header, devices(), cells, settings.cache)


def target_settings(settings: EngineSettings) -> TargetSettings:
    """How the context of a model is made."""
    return TargetSettings(
        settings.context_length,
        settings.threads,
        settings.sequences,
        cells=settings.cells,
        is_streamed=settings.is_streamed,
        reads_ahead=settings.reads_ahead,
        threads_batch=settings.threads_batch,
        cache=settings.cache,
    )
