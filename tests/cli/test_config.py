"""`sssd-chat config`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sssd_chat import paths
from sssd_chat.cli.main import main
from sssd_chat.config import Config, load_config
from sssd_chat.config.settings import all_settings

Capture = pytest.CaptureFixture[str]


def test_the_path_is_under_the_home(home: Path, capsys: Capture) -> None:
    assert main(["config", "path"]) == 0
    assert capsys.readouterr().out == f"{home}/config/config.toml\n"
    assert not home.exists()


def test_what_is_set_is_shown(home: Path, capsys: Capture) -> None:
    assert main(["config", "set", "answer.temperature", "0.2"]) == 0
    assert main(["config", "set", "answer.system", "You", "are", "kind."]) == 0
    assert main(["config", "set", "model.gpu_layers", "-1"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["config", "show", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["answer"]["temperature"] == 0.2
    assert shown["answer"]["system"] == "You are kind."
    assert {f"{s}.{k}" for s, keys in shown.items() for k in keys} == {
        setting.key for setting in all_settings()
    }
    capsys.readouterr()
    assert main(["config", "set", "answer.temperature", "default"]) == 0
    assert "answer.temperature has its default again" in capsys.readouterr().err
    assert load_config().answer.temperature == Config().answer.temperature


def test_what_is_shown_is_a_file_that_says_the_same(home: Path, capsys: Capture) -> None:
    paths.config_file().parent.mkdir(parents=True)
    paths.config_file().write_text('[answer]\nsystem = "a\\n\\"b\\""\n[model]\nfolders = ["x"]\n')
    before = load_config()
    assert main(["config", "show"]) == 0
    out = capsys.readouterr().out
    for setting in all_settings():
        assert setting.purpose in out
    paths.config_file().write_text(out)
    assert load_config() == before
    lines = out.splitlines()
    uncommented = [
        line[2:] if line.startswith("# ") and lines[n - 1].endswith(")") else line
        for n, line in enumerate(lines)
    ]
    values = [line for line in uncommented if not line.startswith("#") and not line.endswith("=")]
    paths.config_file().write_text("\n".join(values))
    assert load_config() == before


def test_wrong_settings_are_told_on_stderr(home: Path, capsys: Capture) -> None:
    paths.config_file().parent.mkdir(parents=True)
    paths.config_file().write_text("[answer]\ntop_p = 7\n")
    assert main(["config", "show", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["answer"]["top_p"] == 0.95
    assert "expected a number from 0 to 1" in captured.err


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["answer.topp", "1"], 2, "did you mean answer.top_p?"),
        (["answer.top_p", "7"], 2, "answer.top_p cannot be '7': expected a number from 0 to 1."),
        (["answer.top_p"], 2, "required: VALUE"),
    ],
)
def test_what_cannot_be_set_is_told(
    words: list[str], code: int, complaint: str, home: Path, capsys: Capture
) -> None:
    try:
        assert main(["config", "set", *words]) == code
    except SystemExit as error:
        assert error.code == code
    assert complaint in capsys.readouterr().err
    assert not paths.config_file().exists()


def test_a_folder_that_cannot_be_written_is_told(home: Path, capsys: Capture) -> None:
    home.write_text("a file where the folder should be")
    assert main(["config", "set", "screen.bell", "true"]) == 1
    assert "cannot be written" in capsys.readouterr().err
