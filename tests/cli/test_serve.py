"""`sssd-chat serve`: what it refuses before a model is read. The rest is in tests/server."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from sssd_chat.cli.main import main


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


@pytest.mark.parametrize("origin", ["example.org", "https://example.org/page", "https://", ""])
def test_an_origin_that_no_browser_sends(origin: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--cors", origin])
    assert ended.value.code == 2
    assert "is not of the form" in capsys.readouterr().err
