"""`sssd-chat doctor`: what it tells, what it changes, and what it keeps to itself."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import pytest

from sssd_chat import paths
from sssd_chat.cli.main import main
from sssd_chat.datastore.document import Document
from sssd_chat.datastore.store import Datastore
from sssd_chat.models import starter
from tests.odd_files import odd_file
from tests.tiny_models import Architecture, tiny_model

Capture = pytest.CaptureFixture[str]

SECRET = "sesame"


@pytest.fixture
def store(home: Path) -> Path:
    """A datastore with a document in it, and a sealed segment."""
    folder = paths.datastore_folder() / "0123456789abcdef"
    store = Datastore(folder)
    store.add(SECRET, Document.of(SECRET, range(50)))
    store.seal()
    store.add("chats", Document.of("1", range(20)))
    store.close()
    return folder


def doctor(capsys: Capture, model: Path, *words: str, code: int = 0) -> tuple[str, str]:
    assert main(["doctor", "--model", str(model), "--threads", "1", *words]) == code
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_everything_is_told(models: Path, store: Path, capsys: Capture) -> None:
    out, err = doctor(capsys, tiny_model(models))
    for words in (
        *(platform.release(), "CPU build", "none that this build", " parameters, F32"),
        *("Step cost, by tokens in a step", "█", "1.00×", "a guess pays", "just now"),
        *("Q4_K_M", "batches well", "2 documents, 70 tokens", "all files sound"),
        *("llama-cpp-python", "0.3.36", str(paths.data_folder()), "columns", "Nothing is wrong."),
    ):
        assert words in out, words
    assert err == ""
    out, _ = doctor(capsys, tiny_model(models))
    assert "from the steps of earlier chats" in out


def test_nothing_but_step_costs_is_written(models: Path, store: Path, capsys: Capture) -> None:
    def files() -> dict[Path, bytes]:
        every = paths.data_folder().rglob("*")
        return {one: one.read_bytes() for one in every if one.is_file()}

    before = files()
    writer = Datastore(store)
    assert writer.is_writer
    doctor(capsys, tiny_model(models))
    assert writer.check_integrity() == []
    writer.close()
    after = files()
    fresh = set(after) - set(before)
    assert {one.parent for one in fresh} == {paths.step_cost_folder()}
    assert {one: after[one] for one in before} == before


def test_the_object_holds_nothing_private(
    models: Path, tmp_path: Path, store: Path, capsys: Capture
) -> None:
    """Neither where all is well nor where everything is wrong."""
    folder = tmp_path / SECRET
    folder.mkdir()
    good = folder / f"{SECRET}.gguf"
    good.write_bytes(tiny_model(models).read_bytes())
    bad = folder / f"{SECRET}-bad.gguf"
    bad.write_bytes(b"GGUF")
    texts = [doctor(capsys, good, "--json")[0]]
    next(store.glob("*.segment")).write_bytes(b"")
    paths.config_file().parent.mkdir(parents=True)
    paths.config_file().write_text(f'{SECRET} = 1\n[model]\npath = "{bad}"\n')
    texts.append(doctor(capsys, bad, "--json", code=1)[0])
    for text in texts:
        for private in (SECRET, str(tmp_path), str(Path.home())):
            assert private not in text
        assert set(json.loads(text)) == {
            *("versions", "machine", "terminal", "model", "datastore", "places", "formats"),
            *("home_is_chosen", "problems"),
        }
    well, wrong = map(json.loads, texts)
    assert well["model"]["step_costs"][0]["ratio"] == 1.0
    assert well["model"]["most_gain"] > 0
    assert well["problems"] == {
        "settings": 0,
        "model": False,
        "datastore": 0,
        "not_writable": [],
    }
    assert wrong["model"] is None
    assert (wrong["problems"]["settings"], wrong["problems"]["model"]) == (1, True)
    assert wrong["problems"]["datastore"] >= 1


def test_what_is_wrong_is_told_in_sentences(models: Path, store: Path, capsys: Capture) -> None:
    next(store.glob("*.segment")).write_bytes(b"")
    out, err = doctor(capsys, models / "nothing.gguf", code=1)
    assert "There is no file" in err and "is damaged" in err
    assert "see below" in out and "Nothing is wrong" not in out
    assert all(line.startswith("sssd-chat: ") for line in err.splitlines())


def test_without_a_model_the_rest_is_told(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(starter, "PACKAGE", "not_installed_anywhere")
    assert main(["doctor"]) == 1
    captured = capsys.readouterr()
    assert "CPU build" in captured.out and "There is no model" in captured.err


def test_a_model_that_cannot_draft_is_not_measured(models: Path, capsys: Capture) -> None:
    out, _ = doctor(capsys, tiny_model(models, Architecture.MAMBA))
    assert "recurrent state" in out and "Step cost" not in out
    assert not paths.step_cost_folder().exists()


def test_a_file_that_cannot_chat_is_wrong(tmp_path: Path, capsys: Capture) -> None:
    out, err = doctor(capsys, odd_file(tmp_path / "odd.gguf", "bert"), code=1)
    assert "odd.gguf is an embedding model (bert)" in err
    assert "see below" in out


def test_bars_are_drawn_without_unicode_too(
    models: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io
    import sys

    output = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "stdout", output)
    assert main(["doctor", "--model", str(tiny_model(models)), "--threads", "1"]) == 0
    output.flush()
    text = output.buffer.getvalue().decode("latin-1")  # type: ignore[attr-defined]
    assert "###" in text
