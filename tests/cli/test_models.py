"""`sssd-chat models`."""

from __future__ import annotations

import json
import os
import pty
from pathlib import Path

import pytest

from sssd_chat import paths
from sssd_chat.cli.main import main
from sssd_chat.config import load_config
from tests.cli.running import run
from tests.models.conftest import PutModel, machine, no_starter, put
from tests.models.fake_hub import drop_after, running_hub
from tests.tiny_models import CHATML_TEMPLATE, tiny_model

__all__ = ["machine", "no_starter", "put"]

Capture = pytest.CaptureFixture[str]

pytestmark = pytest.mark.usefixtures("no_starter", "machine")


def output(capsys: Capture, *words: str, code: int = 0) -> str:
    """What the command prints on stdout."""
    assert main(["models", *words]) == code, capsys.readouterr().err
    return capsys.readouterr().out


def complaint(capsys: Capture, *words: str) -> str:
    """The one sentence that it ends with."""
    assert main(["models", *words]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    return captured.err


def settings_with_folder(folder: Path) -> None:
    paths.config_file().parent.mkdir(parents=True, exist_ok=True)
    paths.config_file().write_text(f'# mine\n[model]\nfolders = ["{folder}"]\n')


def test_models_are_listed(tmp_path: Path, put: PutModel, capsys: Capture) -> None:
    settings_with_folder(tmp_path / "m")
    assert main(["models", "list"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "" and "there is no model yet" in captured.err
    put(tmp_path / "m" / "Good.gguf")
    (tmp_path / "m" / "Bad\x1b[31m.gguf").write_bytes(b"GGUF")
    assert main(["models", "list"]) == 0
    captured = capsys.readouterr()
    head, row = captured.out.splitlines()
    assert head.split() == [
        *("model", "parameters", "quantization", "size", "context", "drafts", "place"),
    ]
    assert row.split()[0] == "Good" and row.split()[-2:] == ["trees", "settings"]
    assert "incomplete" in captured.err and "\x1b" not in captured.err
    good, bad = sorted(json.loads(output(capsys, "list", "--json")), key=lambda one: one["bytes"])[
        ::-1
    ]
    assert good["description"]["architecture"] == "llama" and good["problem"] is None
    assert bad["description"] is None and "incomplete" in bad["problem"]


def test_info_tells_everything(models: Path, capsys: Capture) -> None:
    path = tiny_model(models, chat_template=CHATML_TEMPLATE)
    text = output(capsys, "info", str(path))
    for words in ("Tiny llama", "320 tokens (llama)", "in the file", "at 4,096 tokens", "trees"):
        assert words in text
    told = json.loads(output(capsys, "info", str(path), "--json", "--ctx", "100"))
    assert told["memory"]["context_tokens"] == 100
    assert told["memory"]["total"] > told["bytes"] == path.stat().st_size
    small = ("--cache-type-k", "q8_0", "--cache-type-v", "q8_0")
    less = json.loads(output(capsys, "info", str(path), "--json", "--ctx", "100", *small))
    assert less["memory"]["context"] * 32 == told["memory"]["context"] * 17
    assert len(told["fingerprint"]) == 16


def test_a_model_is_chosen_for_all_commands(tmp_path: Path, put: PutModel, capsys: Capture) -> None:
    settings_with_folder(tmp_path / "m")
    path = put(tmp_path / "m" / "Mine.gguf")
    assert main(["models", "use", "mine"]) == 0
    assert "is used from now on" in capsys.readouterr().err
    assert load_config().model.path == str(path)
    assert paths.config_file().read_text().startswith("# mine\n")
    assert "There is no model nothing" in complaint(capsys, "use", "nothing")


def test_commands_take_the_name_of_a_model(tmp_path: Path, put: PutModel, capsys: Capture) -> None:
    settings_with_folder(tmp_path / "m")
    put(tmp_path / "m" / "Named-F32.gguf", seed=1)
    put(tmp_path / "m" / "x" / "Named-copy-F32.gguf", seed=2)
    ask = ("ask", "hello", "--max-tokens", "2", "--threads", "1", "--json", "--model")
    answer = run(*ask, "named")
    assert json.loads(answer.stdout)["model"]["path"].endswith("Named-F32.gguf")
    ambiguous = run(*ask, "tiny llama")
    assert ambiguous.returncode == 1
    assert "Named-copy-F32 (settings), Named-F32 (settings)" in ambiguous.stderr
    unknown = run(*ask, "naned-f32")
    assert unknown.returncode == 1
    assert "did you mean Named-F32" in unknown.stderr


def test_what_is_no_chat_model_is_not_chosen(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    assert "incomplete" in complaint(capsys, "use", str(tmp_path / "x.gguf"))
    assert load_config().model.path is None


def test_only_our_own_models_are_removed(tmp_path: Path, put: PutModel, capsys: Capture) -> None:
    settings_with_folder(tmp_path / "m")
    own = put(paths.models_folder() / "org" / "repo" / "Own.gguf", seed=1)
    other = put(tmp_path / "m" / "Other.gguf", seed=2)
    sentence = complaint(capsys, "remove", "Other", "--yes")
    assert str(other.parent) in sentence and "left alone" in sentence and other.exists()
    assert "needs --yes" in complaint(capsys, "remove", "Own")
    assert own.exists()
    assert main(["models", "remove", "Own", "--yes"]) == 0
    assert "is removed" in capsys.readouterr().err
    assert not own.exists() and list(paths.models_folder().iterdir()) == []


def test_what_is_left_of_a_download_can_be_removed(put: PutModel, capsys: Capture) -> None:
    folder = paths.models_folder() / "a" / "b"
    own = put(folder / "Own.gguf")
    part = folder / "Other.gguf.0123456789ab.part"
    part.write_bytes(b"GGUF")
    (folder / ".Other.gguf.lock").touch()
    assert main(["models", "remove", part.name, "--yes"]) == 0
    assert not part.exists() and own.exists()
    assert main(["models", "remove", "Own", "--yes"]) == 0
    assert list(paths.models_folder().iterdir()) == []


def test_removing_asks_first(
    put: PutModel, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = put(paths.models_folder() / "a" / "b" / "Own.gguf")
    for answer, is_left in (("n\n", True), ("\n", True), ("y\n", False)):
        master, slave = pty.openpty()
        os.write(master, answer.encode())
        with os.fdopen(slave) as stdin:
            monkeypatch.setattr("sys.stdin", stdin)
            assert main(["models", "remove", "Own"]) == (1 if is_left else 0)
        os.close(master)
        assert own.exists() == is_left
        assert "Remove Own (" in capsys.readouterr().err


def test_a_model_is_pulled(models: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    with running_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        contents = tiny_model(models).read_bytes()
        hub.repositories["org/Tiny"] = {"t-Q4_0.gguf": contents, "t-Q8_0.gguf": b"GGUF"}
        hub.moods = [drop_after(1000)]
        assert main(["models", "pull", "org/Tiny"]) == 0
        captured = capsys.readouterr()
        path = paths.models_folder() / "org" / "Tiny" / "t-Q4_0.gguf"
        assert captured.out == f"{path}\n" and path.read_bytes() == contents
        assert "Q4_0 (0.00 GB) is taken: small" in captured.err
        assert "Trying again" in captured.err
        again = json.loads(output(capsys, "pull", "org/Tiny:q4_0", "--json"))
        assert again == {"path": str(path), "was_there": True}
        # What the repository calls a model is not one.
        assert main(["models", "pull", "org/Tiny:Q8_0"]) == 1
        assert "incomplete" in capsys.readouterr().err
    assert json.loads(output(capsys, "pull", "org/Tiny", "--offline", "--json")) == again
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert output(capsys, "pull", "org/Tiny") == f"{path}\n"
    assert "is not on this machine" in complaint(capsys, "pull", "org/Other")
    assert "is no repository" in complaint(capsys, "pull", "Other")


def test_without_a_command_it_is_wrong_usage(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["models"])
    assert caught.value.code == 2
