"""The whole report, and the form of it that can be sent to strangers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sssd_chat.diagnosis.formats import EVIDENCE, MEASURED_ON
from sssd_chat.diagnosis.machine import Machine, Terminal
from sssd_chat.diagnosis.model import ModelReport
from sssd_chat.diagnosis.store import PlaceReport, StoreReport


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that `doctor` found."""

    versions: dict[str, str]
    machine: Machine
    terminal: Terminal
    model: ModelReport | None
    model_problem: str | None
    """Why there is no report of a model, in a sentence."""
    datastore: StoreReport
    places: Sequence[PlaceReport]
    notices: Sequence[str]
    """What is wrong with the settings."""

    @property
    def problems(self) -> list[str]:
        """Everything that is wrong, a sentence each."""
        found = list(self.notices)
        found += [self.model_problem] if self.model_problem else []
        found += [f"{problem}." for problem in self.datastore.problems]
        found += [
            f"{place.path} ({place.purpose}) cannot be written."
            for place in self.places
            if not place.is_writable
        ]
        return found

    def as_json(self) -> dict[str, Any]:
        """Without anything private: no paths, no names of files, collections or users, no text of
        chats. What is wrong is counted, for the sentences name files."""
        return {
            "versions": self.versions,
            "machine": asdict(self.machine),
            "terminal": asdict(self.terminal),
            "model": None if self.model is None else _model(self.model),
            "datastore": {
                name: value for name, value in asdict(self.datastore).items() if name != "problems"
            },
            "places": {
                place.purpose: {"exists": place.exists, "is_writable": place.is_writable}
                for place in self.places
            },
            "home_is_chosen": bool(os.environ.get("SSSD_CHAT_HOME")),
            "formats": {"measured_on": MEASURED_ON, "evidence": [asdict(one) for one in EVIDENCE]},
            "problems": {
                "settings": len(self.notices),
                "model": self.model_problem is not None,
                "datastore": len(self.datastore.problems),
                "not_writable": [one.purpose for one in self.places if not one.is_writable],
            },
        }


def _model(model: ModelReport) -> dict[str, Any]:
    described = model.description
    return {
        "architecture": described.architecture,
        "parameters": described.parameters,
        "experts": described.experts,
        "quantization": described.quantization,
        "tokenizer": described.tokenizer,
        "vocabulary_size": described.vocabulary_size,
        "trained_context": described.trained_context,
        "has_template": described.has_template,
        "bytes": described.bytes,
        "draft_shape": described.draft_shape,
        "threads": model.threads,
        "threads_batch": model.threads_batch,
        "cache": asdict(model.cache),
        "tuning": None if model.tuning is None else asdict(model.tuning),
        "offload": None if model.offload is None else asdict(model.offload),
        "was_probed": model.was_probed,
        "step_costs": [asdict(point) | {"gain": point.gain} for point in model.points],
        "most_gain": model.most_gain,
        "least_probability": model.least_probability,
        "read_bandwidth": model.read_bandwidth,
    }
