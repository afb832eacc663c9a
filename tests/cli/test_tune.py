"""`sssd-chat tune`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sssd_chat import paths
from sssd_chat.cli import options as shared
from sssd_chat.cli import tune as tune_options
from sssd_chat.cli.main import main
from sssd_chat.config.settings import Config, ModelConfig
from sssd_chat.generation.loading import EngineSettings, load_engine
from sssd_chat.generation.tuning import load_tuning
from tests.tiny_models import Architecture, tiny_model

Capture = pytest.CaptureFixture[str]


def tune(capsys: Capture, model: Path, *words: str) -> str:
    # One thread: several of them spin, and starve on a machine that is busy with other tests.
    few = ("--seconds", "1", "--threads", "1")
    assert main(["tune", "--model", str(model), *few, *words]) == 0
    return capsys.readouterr().out


def test_it_measures_keeps_and_forgets(models: Path, capsys: Capture) -> None:
    model = tiny_model(models, head_width=32)
    settings = EngineSettings(model, tuning_folder=paths.tuning_folder())
    told = json.loads(tune(capsys, model, "--json", "--dry-run"))
    assert not told["is_kept"] and load_tuning(settings) is None
    assert {one["option"] for one in told["tried"]} == {"--flash-attn", "--cache-type-k, -v"}
    assert set(map(int, told["curve"])) >= {1, 2, 4, 8, 16}
    assert told["tuning"]["plain"] > 0 and told["tuning"]["cache_type_k"] is None

    text = tune(capsys, model)
    for words in ("threads", "flash attention", "tokens/s", "a step after"):
        assert words in text
    kept = load_tuning(settings)
    assert kept is not None
    # Nothing else was written.
    written = [file for file in paths.data_folder().rglob("*") if file.is_file()]
    assert len(written) == 1 and written[0].parent == paths.tuning_folder()

    assert main(["tune", "--model", str(model), "--forget"]) == 0
    assert "is dropped" in capsys.readouterr().err
    assert main(["tune", "--model", str(model), "--forget"]) == 0
    assert "is not tuned" in capsys.readouterr().err
    assert load_tuning(settings) is None


@pytest.mark.parametrize("architecture", [Architecture.MAMBA, Architecture.LFM2])
def test_models_without_trees_are_tuned_too(
    models: Path, capsys: Capture, architecture: Architecture
) -> None:
    model = tiny_model(models, architecture)
    told = json.loads(tune(capsys, model, "--json", "--dry-run"))
    assert "1" in told["curve"]


def test_it_runs_beside_a_chat(models: Path, capsys: Capture) -> None:
    model = tiny_model(models)
    folder = paths.data_folder()
    engine = load_engine(
        EngineSettings(
            model,
            256,
            threads=1,
            cost_folder=folder / "step-cost",
            experience_folder=folder / "experience",
            datastore_folder=folder / "datastore",
        )
    )
    tune(capsys, model)
    assert list(engine.engine.cost.measured_sizes())
    engine.close()
    assert main(["doctor", "--model", str(model), "--threads", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["model"]
    assert told["tuning"]["plain"] > 0


def test_settings_go_before_it_and_measurements_do_without(models: Path) -> None:
    options = tune_options.parser().parse_args(["--model", str(tiny_model(models))])
    config = Config(model=ModelConfig(threads=3, flash_attention="off", cache_type_k="f32"))
    settings = shared.engine_settings(options, config)
    assert settings.tuning_folder == paths.tuning_folder()
    assert (settings.threads, settings.flash_attention, settings.cache.type_k) == (3, "off", "f32")
    # `bench` compares by its options alone.
    assert shared.engine_settings(options).tuning_folder is None


def test_an_interruption_keeps_nothing(models: Path) -> None:
    model = tiny_model(models)
    process = subprocess.Popen(
        [sys.executable, "-m", "sssd_chat", "tune", "--model", str(model), "--threads", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "threads" in line or "attention" in line:
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == "" and "Traceback" not in err
    assert not paths.tuning_folder().exists()


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["--seconds", "0"], 2, "out of range"),
        (["--model", "/nowhere.gguf"], 1, "no file"),
        (["--cache-type-v", "q8_0", "--flash-attn", "off"], 2, "needs flash attention"),
    ],
)
def test_bad_input_is_told(
    models: Path, capsys: Capture, words: list[str], code: int, complaint: str
) -> None:
    given = ["tune", "--model", str(tiny_model(models, head_width=32)), *words]
    try:
        assert main(given) == code
    except SystemExit as end:
        assert end.code == code
    assert complaint in capsys.readouterr().err
