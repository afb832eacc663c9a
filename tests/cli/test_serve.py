"""`sssd-chat serve`: what it refuses before a model is read. The rest is in tests/server."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from sssd_chat.cli.main import main
from tests.tiny_models import Architecture, tiny_model


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "0.0.0.0"], "open to everybody"),
        (["--api-keys", "KEYS", "--learn"], "would learn nothing"),
        (["--api-keys", "missing"], "cannot be read"),
        (["--api-key", " "], "key is empty"),
        (["--host", "no-such-host.invalid", "--api-key", "k"], "Cannot listen"),
    ],
)
def test_what_cannot_be_served(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "KEYS").write_text("ann:secret\n")
    assert main(["serve", "--model", "there-is-none", *words]) == 1
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


def test_the_packages_it_needs_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "uvicorn" else find(name)
    )
    assert main(["serve"]) == 1
    assert "sssd-chat[serve]" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["serve", "batch"])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--parallel", "4", "--cells", "63"], "use 64 or more, or a smaller --parallel"),
        (["--ctx", "100", "--cells", "99", "--parallel", "1"], "use --cells 100 or more"),
    ],
)
def test_cells_that_cannot_be_are_refused_in_one_sentence(
    chat_model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
    words: list[str],
    said: str,
) -> None:
    (tmp_path / "in").write_text('{"prompt": "a"}\n')
    first = ["--port", "0"]
    if command == "batch":
        first = [str(tmp_path / "in"), "-o", str(tmp_path / "out")]
    assert main([command, *first, "--model", str(chat_model), *words]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


def test_a_recurrent_model_divides_its_cells(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tiny_model(models, Architecture.LFM2)
    (tmp_path / "in").write_text('{"prompt": "a", "max_tokens": 2}\n')
    words = ["batch", str(tmp_path / "in"), "-o", str(tmp_path / "out"), "--model", str(model)]
    words += ["--threads", "1", "--parallel", "2", "--ctx", "100", "--quiet"]
    assert main([*words, "--cells", "199"]) == 2
    err = capsys.readouterr().err
    assert "take --cells 200 or more" in err and err.count("\n") == 1
    assert main([*words, "--cells", "200"]) == 0


@pytest.mark.parametrize("origin", ["example.org", "https://example.org/page", "https://", ""])
def test_an_origin_that_no_browser_sends(origin: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--cors", origin])
    assert ended.value.code == 2
    assert "is not of the form" in capsys.readouterr().err
