"""Fewer layers on the GPU, step by step, until they fit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from sssd_chat.errors import UserError
from sssd_chat.generation import opening
from sssd_chat.generation.loading import EngineSettings, load_engine, step_cost_file
from sssd_chat.generation.offloading import about_plan, load_offloaded
from sssd_chat.llama.devices import Device
from sssd_chat.llama.model import ALL_LAYERS, Model, OutOfMemory
from sssd_chat.llama.offloading import OffloadPlan
from tests.tiny_models import tiny_model


@dataclass
class Card:
    """A GPU that takes so many layers."""

    room: int
    tries: list[int] = field(default_factory=list)

    def load(self, layers: int) -> str:
        self.tries.append(layers)
        if (29 if layers == ALL_LAYERS else layers) > self.room:
            raise OutOfMemory("no room")
        return f"{layers} loaded"


@pytest.mark.parametrize("room", range(30))
def test_what_does_not_fit_is_halved(room: int) -> None:
    card = Card(room)
    loaded = load_offloaded(card.load, None, None, 29)
    assert card.tries[0] == ALL_LAYERS and len(card.tries) <= 6
    if room >= 29:
        assert loaded.layers == ALL_LAYERS and loaded.notice == ""
        return
    assert room // 2 <= loaded.layers <= room or loaded.layers == room == 0
    assert f"{max(0, loaded.layers - 1)} of 28 layers are on the GPU" in loaded.notice
    assert loaded.loaded == f"{loaded.layers} loaded"


def test_the_plan_comes_first_and_the_user_before_it() -> None:
    plan = OffloadPlan(13, 29, 3 * 10**9, 7 * 10**9)
    card = Card(29)
    loaded = load_offloaded(card.load, None, plan, 29)
    assert card.tries == [13]
    assert loaded.notice == (
        "12 of 28 layers are on the GPU: all of them take 7.0 GB, and 3.0 GB of its memory are "
        "free."
    )
    card = Card(10)
    assert load_offloaded(card.load, None, plan, 29).notice.endswith("its memory took no more.")
    assert card.tries == [13, 6]
    card = Card(29)
    assert load_offloaded(card.load, 20, plan, 29).notice == ""
    assert card.tries == [20]
    whole = replace(plan, layers=29)
    assert load_offloaded(Card(29).load, None, whole, 29).layers == ALL_LAYERS
    assert about_plan(whole) == ""


def test_other_failures_are_told_at_once() -> None:
    def load(layers: int) -> str:
        tries.append(layers)
        raise UserError("damaged")

    tries: list[int] = []
    with pytest.raises(UserError, match="damaged"):
        load_offloaded(load, None, None, 29)
    assert tries == [ALL_LAYERS]
    with pytest.raises(OutOfMemory):
        load_offloaded(Card(-1).load, None, None, 29)


def test_an_engine_says_what_is_not_on_the_gpu(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a GPU that llama.cpp does not have, and a loader that it refuses layers of."""
    settings = EngineSettings(tiny_model(models), 256, threads=1, cost_folder=tmp_path)
    tries: list[int | None] = []

    class RefusingModel(Model):
        def __init__(self, path: Path, *, gpu_layers: int | None = None, **options: object) -> None:
            tries.append(gpu_layers)
            if gpu_layers != 1:
                raise OutOfMemory("no room")
            super().__init__(path, gpu_layers=0, **options)  # type: ignore[arg-type]

    card = Device("CUDA0", "A card", "GPU", 0, 10**10)
    monkeypatch.setattr(opening, "has_gpu", lambda: True)
    monkeypatch.setattr(opening, "devices", lambda: [card])
    monkeypatch.setattr(opening, "Model", RefusingModel)
    engine = load_engine(settings)
    try:
        assert tries == [ALL_LAYERS, 1]
        assert engine.notice == "0 of 2 layers are on the GPU: its memory took no more."
        model_bytes = engine.model.header.model_bytes
        assert engine.cost_file == step_cost_file(replace(settings, gpu_layers=1), model_bytes)
    finally:
        engine.close()

    tries.clear()
    monkeypatch.setattr(opening, "devices", lambda: [replace(card, free=2**28 + 1)])
    with pytest.raises(OutOfMemory):
        # Nothing fits, so the CPU alone is tried; this loader refuses that as well.
        load_engine(settings)
    assert tries == [0]
