"""What `tune` found is kept, used, and dropped."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.generation.loading import EngineSettings, load_engine, step_cost_file
from sssd_chat.generation.tuning import (
    Tuning,
    forget_tuning,
    load_tuning,
    save_tuning,
    tuned,
    tuning_file,
)
from tests.tiny_models import tiny_model

FOUND = Tuning(2, 1, "on", None, None, 10.0, 12.0, 11.0, 14.0, "2026-01-02")


@pytest.fixture
def settings(models: Path, tmp_path: Path) -> EngineSettings:
    return EngineSettings(tiny_model(models), 256, tuning_folder=tmp_path / "tuning")


def test_it_is_kept_for_its_model_alone(settings: EngineSettings, models: Path) -> None:
    assert load_tuning(settings) is None and tuned(settings) == settings
    file = save_tuning(settings, FOUND)
    assert file is not None and file.stat().st_mode & 0o077 == 0
    assert load_tuning(settings) == FOUND
    # The context and what is kept elsewhere do not matter; the model and the offloading do.
    assert load_tuning(replace(settings, context_length=64, threads=3)) == FOUND
    for other in (
        replace(settings, path=tiny_model(models, seed=3)),
        replace(settings, gpu_layers=3),
        replace(settings, rpc_servers=("host:1",)),
        replace(settings, tuning_folder=None),
        replace(settings, path=models / "none.gguf"),
    ):
        assert load_tuning(other) is None
    assert forget_tuning(settings) and not forget_tuning(settings)
    assert load_tuning(settings) is None and not file.exists()


def test_what_the_user_chose_goes_before_it(settings: EngineSettings) -> None:
    save_tuning(settings, replace(FOUND, cache_type_k="q8_0", cache_type_v="q8_0"))
    used = tuned(settings)
    assert (used.threads, used.threads_batch, used.flash_attention) == (2, 1, "on")
    assert (used.cache.type_k, used.cache.type_v) == ("q8_0", "q8_0")
    assert tuned(used) == used
    # Half of a pair is left alone: it was measured with the other half.
    chosen = tuned(replace(settings, threads=4))
    assert (chosen.threads, chosen.threads_batch, chosen.flash_attention) == (4, None, "on")
    chosen = tuned(replace(settings, flash_attention="off"))
    assert (chosen.flash_attention, chosen.cache_type_v, chosen.threads) == ("off", None, 2)


def test_a_model_is_loaded_as_it_was_tuned(settings: EngineSettings, tmp_path: Path) -> None:
    settings = replace(settings, cost_folder=tmp_path / "costs")
    save_tuning(settings, replace(FOUND, threads=1))
    engine = load_engine(settings)
    try:
        assert engine.target.threads == 1
        assert "flash_attention='on'" in engine.target.state_kind
        assert engine.cost_file == step_cost_file(tuned(settings), engine.model.header.model_bytes)
        assert engine.cost_file != step_cost_file(settings, engine.model.header.model_bytes)
    finally:
        engine.close()


@given(content=st.binary(max_size=200))
def test_a_damaged_file_is_no_tuning(
    content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("tuning")
    model = folder / "m.gguf"
    model.touch()
    settings = EngineSettings(model, tuning_folder=folder)
    file = tuning_file(settings)
    assert file is not None
    file.write_bytes(content)
    assert load_tuning(settings) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"threads": 0},
        {"threads": True},
        {"threads_batch": "many"},
        {"flash_attention": "perhaps"},
        {"cache_type_k": "q9"},
        {"plain": None},
        {"measured_on": 3},
    ],
)
def test_values_that_cannot_be_are_no_tuning(
    settings: EngineSettings, wrong: dict[str, object]
) -> None:
    file = save_tuning(settings, FOUND)
    assert file is not None
    content = json.loads(file.read_bytes())
    content["tuning"] |= wrong
    file.write_text(json.dumps(content))
    assert load_tuning(settings) is None
