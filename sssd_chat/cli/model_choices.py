"""The models of this machine, as the chat offers them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from sssd_chat.cli import options as shared
from sssd_chat.conversation.catalogue import ModelChoice
from sssd_chat.errors import UserError
from sssd_chat.text import one_line, parameter_count

if TYPE_CHECKING:
    from sssd_chat.config import Config
    from sssd_chat.models.description import ModelDescription
    from sssd_chat.models.finding import FoundModel

_USUAL_CONTEXT = 8192
_GIGABYTE = 1e9


class ModelChoices:
    """A ModelCatalogue; see there."""

    def __init__(self, options: argparse.Namespace, config: Config) -> None:
        """`options` are those of the command, as far as they say how a model runs."""
        self._options = options
        self._config = config

    def models(self) -> list[ModelChoice]:
        """See ModelCatalogue."""
        from sssd_chat.models.finding import find_models

        try:
            chosen = shared.model_path(self._options, self._config)
        except UserError:
            chosen = Path()
        found = find_models(shared.model_folders(self._config))
        return [_choice(model, chosen) for model in found]

    def check(self, path: str) -> None:
        """Raises UserError when a model file cannot be used, or does not fit into the memory that
        is free."""
        from sssd_chat.llama.devices import has_gpu
        from sssd_chat.models.finding import find_at

        model = find_at(Path(path))
        if model.problem is not None:
            raise UserError(model.problem)
        told = model.description
        if told is None or has_gpu():
            # How much a GPU takes over is known when it has.
            return
        import psutil

        context = self._options.ctx or self._config.model.context
        context = context or min(told.trained_context or _USUAL_CONTEXT, _USUAL_CONTEXT)
        cache = shared.cache_settings(self._options, self._config)
        need, free = told.memory(context, cache).total, psutil.virtual_memory().available
        if need > free:
            raise UserError(
                f"{one_line(model.name)} needs about {need / _GIGABYTE:.1f} GB of memory at "
                f"{context:,} tokens of context, and {free / _GIGABYTE:.1f} GB are free: choose a "
                "smaller model, or a smaller --ctx."
            )


def _choice(model: FoundModel, chosen: Path) -> ModelChoice:
    told = model.description
    return ModelChoice(
        str(model.path),
        model.name,
        _kind(told) if told else "",
        model.bytes,
        (told.quantization or "") if told else "",
        (told.trained_context or 0) if told else 0,
        "" if told is None else _batches_well(told),
        model.problem or "",
        model.path == chosen,
        (told.licence or "") if told else "",
    )


def _kind(told: ModelDescription) -> str:
    size = "" if told.parameters is None else f" {parameter_count(told.parameters)}"
    return f"{told.architecture}{size}"


def _batches_well(told: ModelDescription) -> str:
    from sssd_chat.models.quantizations import BATCHES_WELL

    if not told.draft_shape.can_draft:
        return "no drafts"
    if told.quantization in BATCHES_WELL:
        return "drafts gain much"
    return "drafts gain less" if told.quantization else ""
