"""Loading a model with as many layers on the GPU as fit, and with fewer when they do not."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from sssd_chat.llama.model import ALL_LAYERS, OutOfMemory
from sssd_chat.llama.offloading import OffloadPlan, fewer_layers, told_layers

Loaded = TypeVar("Loaded")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Offloaded(Generic[Loaded]):
    """What was loaded, and how."""

    loaded: Loaded
    layers: int
    """On GPUs, as llama.cpp counts them: the output is one more; ALL_LAYERS for all."""
    notice: str
    """That not all layers are there, in a sentence; empty where all that were wanted are."""


def load_offloaded(
    load: Callable[[int], Loaded], wanted: int | None, plan: OffloadPlan | None, all_layers: int
) -> Offloaded[Loaded]:
    """Calls `load` with a number of layers, and with half of it as long as the memory does not
    take them; with 0 at last.

    The first number is `wanted`, or else what the plan says, or all of them where it is not known
    what fits. Raises what `load` raises, OutOfMemory only from the last try.
    """
    fits = ALL_LAYERS if plan is None or plan.is_whole else plan.layers
    layers = first = fits if wanted is None else wanted
    while True:
        try:
            loaded = load(layers)
            break
        except OutOfMemory as error:
            if layers == 0:
                raise
            fewer = fewer_layers(layers, all_layers)
            log.warning("%s layers did not fit (%s); %d are tried", layers, error, fewer)
            layers = fewer
    notice = ""
    if layers != first:
        notice = f"{told_layers(layers, all_layers)} are on the GPU: its memory took no more."
    elif wanted is None and plan is not None:
        notice = about_plan(plan)
    return Offloaded(loaded, layers, notice)


def about_plan(plan: OffloadPlan) -> str:
    """What does not fit, in a sentence; empty where everything fits."""
    if plan.is_whole:
        return ""
    return (
        f"{told_layers(plan.layers, plan.all_layers)} are on the GPU: all of them take "
        f"{plan.needed / 1e9:.1f} GB, and {plan.free / 1e9:.1f} GB of its memory are free."
    )
