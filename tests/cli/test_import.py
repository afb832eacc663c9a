"""`sssd-chat import`."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sssd_chat import paths
from sssd_chat.cli.import_report import progress_text, size
from sssd_chat.cli.main import main
from sssd_chat.config import change_setting
from sssd_chat.conversation.corpus import ImportProgress, Stage, importing, indexed
from sssd_chat.conversation.history import History
from sssd_chat.datastore.store import Datastore
from sssd_chat.datastore.texts import TextStore
from sssd_chat.llama.model import open_vocabulary
from sssd_chat.models import resolve
from tests.conversation.corpus.reading import read_here
from tests.terminal import Terminal

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "read_files", read_here)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.txt").write_text("the first text of mine")
    (folder / "b.md").write_text("# A heading\n\nand a paragraph")
    return folder


def words(folder: Path, model: Path | None, *more: str) -> list[str]:
    chosen = [] if model is None else ["--model", str(model)]
    return ["import", str(folder), "--collection", "mine", *chosen, *more]


def data(capsys: Capture, *arguments: str, code: int = 0) -> dict:
    assert main([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_files_are_indexed_for_the_model(folder: Path, chat_model: Path, capsys: Capture) -> None:
    assert main(words(folder, chat_model)) == 0
    output = capsys.readouterr()
    assert output.err == ""
    lines = output.out.splitlines()
    assert lines[0].split() == ["read", "2"]
    assert lines[1].split() == ["documents", "2", "50", "bytes", "of", "text"]
    with open_vocabulary(chat_model) as vocabulary:
        folder_of_index = paths.datastore_folder() / vocabulary.fingerprint
        expected = vocabulary.tokenize("the first text of mine")
    with contextlib.closing(Datastore(folder_of_index)) as store:
        found = {d.label.key: d.tokens.tolist() for d in store.documents("mine")}
        assert store.check_integrity() == []
    assert found[str(folder / "a.txt")] == expected
    tokens = sum(map(len, found.values()))
    assert lines[-1].split() == ["tokens", str(tokens), "in", "the", "collection", "mine"]


@pytest.mark.usefixtures("in_this_process")
def test_importing_again_and_syncing(folder: Path, chat_model: Path, capsys: Capture) -> None:
    first = data(capsys, *words(folder, chat_model))
    assert (first["read"], first["new"], first["documents"]) == (2, 2, 2)
    (folder / "a.txt").write_text("another text")
    (folder / "b.md").unlink()
    second = data(capsys, *words(folder, chat_model))
    assert (second["changed"], second["unchanged"], second["removed"]) == (1, 0, 0)
    third = data(capsys, *words(folder, chat_model, "--sync"))
    assert (third["unchanged"], third["removed"]) == (1, 1)
    assert third["tokens"] < second["tokens"]


@pytest.mark.usefixtures("in_this_process")
def test_some_failed(folder: Path, chat_model: Path, capsys: Capture) -> None:
    (folder / "c.json").write_text("{broken")
    (folder / ".hidden.txt").write_text("x")
    assert main(words(folder, chat_model)) == 1
    output = capsys.readouterr()
    assert "failed                    1" in output.out
    assert "skipped                   1  1 hidden" in output.out
    *_, reason, last = output.err.splitlines()
    assert "c.json is no valid JSON" in reason
    assert last == "sssd-chat: 1 file could not be read."
    assert main(words(folder, chat_model, "--quiet")) == 1
    output = capsys.readouterr()
    assert output.out == "" and len(output.err.splitlines()) == 2
    found = data(capsys, *words(folder, chat_model, "--hidden"), code=1)
    assert found["new"] == 1
    assert found["failed"][0]["path"] == str(folder / "c.json")


@pytest.mark.usefixtures("in_this_process")
def test_what_git_ignores(folder: Path, chat_model: Path, capsys: Capture) -> None:
    (folder / ".gitignore").write_text("*.md\n")
    assert data(capsys, *words(folder, chat_model))["skipped"] == {
        "hidden": 1,
        "ignored by .gitignore": 1,
    }
    assert data(capsys, *words(folder, chat_model, "--ignored"))["new"] == 1


@pytest.mark.usefixtures("in_this_process")
def test_the_largest_file_is_a_setting(folder: Path, chat_model: Path, capsys: Capture) -> None:
    change_setting(paths.config_file(), "import.largest_file_mb", "1")
    (folder / "big.txt").write_text("x " * 600_000)
    assert data(capsys, *words(folder, chat_model))["skipped"] == {"too large": 1}


@pytest.mark.usefixtures("in_this_process")
def test_a_dry_run_changes_nothing(folder: Path, chat_model: Path, capsys: Capture) -> None:
    main(words(folder, chat_model))
    (folder / "a.txt").write_text("changed")
    (folder / "new.txt").write_text("new")
    capsys.readouterr()
    before = paths.texts_file().read_bytes()
    assert main(words(folder, None, "--dry-run")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [f"changed   {folder / 'a.txt'}", f"new       {folder / 'new.txt'}"]
    assert lines[3].split()[:3] == ["to", "read", "2"]
    found = data(capsys, *words(folder, None, "--dry-run"))
    assert found["files"][1] == {"path": str(folder / "new.txt"), "status": "new"}
    assert found["tokens"] is None
    assert paths.texts_file().read_bytes() == before


@pytest.mark.usefixtures("in_this_process")
def test_without_a_model_the_texts_wait(
    folder: Path, chat_model: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolve, "starter_model", lambda: None)
    assert main(words(folder, None)) == 0
    assert "indexed when there is one" in capsys.readouterr().err
    with contextlib.closing(TextStore(paths.texts_file())) as texts:
        assert len(texts.digests("mine")) == 2
    assert data(capsys, *words(folder, chat_model))["tokens"] > 0


@pytest.mark.usefixtures("in_this_process")
def test_another_program_in_the_way(
    folder: Path, chat_model: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexed, "_WAIT_SECONDS", 0.1)
    with open_vocabulary(chat_model) as vocabulary:
        index = paths.datastore_folder() / vocabulary.fingerprint
    with contextlib.closing(Datastore(index)):
        assert main(words(folder, chat_model)) == 1
    assert "The texts are kept but not indexed yet" in capsys.readouterr().err
    assert data(capsys, *words(folder, chat_model))["unchanged"] == 2


def test_wrong_usage(folder: Path, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["import", str(folder)])
    assert ended.value.code == 2
    assert main(["import", str(folder), "--collection", "chats"]) == 1
    assert "belongs to the program" in capsys.readouterr().err


@pytest.mark.usefixtures("in_this_process")
def test_a_model_that_is_none(folder: Path, capsys: Capture) -> None:
    assert main(words(folder, folder / "a.txt")) == 1
    assert "not a GGUF" in capsys.readouterr().err
    assert not paths.texts_file().exists()


def test_a_damaged_database_is_told(folder: Path, chat_model: Path, capsys: Capture) -> None:
    paths.data_folder().mkdir(parents=True)
    paths.texts_file().write_bytes(b"this is no database, but long enough to be one" * 100)
    assert main(words(folder, chat_model)) == 1
    error = capsys.readouterr().err
    assert str(paths.texts_file()) in error and len(error.splitlines()) == 1


@pytest.mark.usefixtures("in_this_process")
def test_an_estimate(folder: Path, chat_model: Path, capsys: Capture) -> None:
    assert main(words(folder, chat_model, "--estimate")) == 1
    assert "no answers to replay" in capsys.readouterr().err
    text = "The heron stood in the shallow water and waited for a fish to come near. " * 3
    with open_vocabulary(chat_model) as vocabulary:
        tokens = vocabulary.tokenize(text)
        fingerprint = vocabulary.fingerprint
    with contextlib.closing(History(paths.history_file())) as history:
        for _ in range(2):
            chat = history.add_chat("birds", "")
            question = history.add_turn(chat, None, "user", "Tell me of birds", "done", "tiny")
            turn = history.add_turn(chat, question, "assistant", text, "done", "tiny", fingerprint)
            history.update_turn(turn, text, tokens, "done")
    (folder / "birds.txt").write_text(text)
    found = data(capsys, *words(folder, chat_model, "--estimate"))
    assert found["answers"] == 2
    assert found["tokens"] == 2 * (len(tokens) - 1)
    assert found["drafted_with"] > found["drafted_without"]
    assert main(words(folder, chat_model, "--estimate")) == 0
    assert capsys.readouterr().out.startswith(f"Of the {found['tokens']:,} tokens of your last 2")
    assert not paths.texts_file().exists()


def test_progress_as_a_line() -> None:
    assert progress_text(ImportProgress(Stage.FINDING, 1200)) == "looking for files: 1,200"
    reading = ImportProgress(Stage.READING, 3, 10, 0.25, seconds=20)
    assert progress_text(reading) == "reading █████░░░░░░░░░░░░░░░  25% · 3 of 10 files · 1:00 left"
    indexing = ImportProgress(Stage.INDEXING, 1, 2, 0.5, 9000, 3)
    assert "1 of 2 documents · 3,000 tokens/s · 0:03 left" in progress_text(indexing)
    assert [size(n) for n in (9, 1500, 2_000_000, 3_100_000_000)] == [
        *("9 bytes", "1.5 kB", "2 MB", "3.1 GB")
    ]


def test_a_terminal_shows_progress(folder: Path, chat_model: Path) -> None:
    terminal = Terminal(words(folder, chat_model))
    try:
        assert terminal.exit_code() == 0
        assert b"looking for files" in terminal.raw
    finally:
        terminal.close()


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_stopped_and_run_again(
    folder: Path, chat_model: Path, capsys: Capture, number: signal.Signals
) -> None:
    for n in range(300):
        (folder / f"{n}.txt").write_text(f"text number {n} " * 200)
    process = subprocess.Popen(
        [sys.executable, "-m", "sssd_chat", *words(folder, chat_model)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    log = paths.texts_file()
    deadline = time.monotonic() + 60
    while not log.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.3)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    if number == signal.SIGINT:
        assert process.returncode in (0, 130)
        assert "Traceback" not in errors
        assert process.returncode == 0 or "importing again goes on" in errors
    assert main(["datastore", "check"]) == 0
    capsys.readouterr()
    found = data(capsys, *words(folder, chat_model))
    assert found["new"] + found["unchanged"] == 302
    assert main(["datastore", "check"]) == 0
