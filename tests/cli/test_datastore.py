"""`sssd-chat datastore`, with a tiny model's vocabulary."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from sssd_chat import paths
from sssd_chat.cli.main import main
from sssd_chat.datastore.savings import Saving, add_savings
from sssd_chat.datastore.store import Datastore
from sssd_chat.datastore.texts import StoredText, TextStore
from tests.conversation.test_indexing import answer, corpus
from tests.terminal import Terminal

Capture = pytest.CaptureFixture[str]
SECRET = "the eagle lands behind the old mill"


@pytest.fixture
def filled(
    home: Path, tmp_path: Path, chat_model: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """A chat, an imported collection and a starter collection, indexed for a tiny model."""
    from sssd_chat.conversation.history import History

    corpus(tmp_path / "starter", "code", ["print(1)", "print(2)"])
    monkeypatch.setattr("sssd_chat.datastore.starter.starter_folder", lambda: tmp_path / "starter")
    with contextlib.closing(History(paths.history_file())) as history:
        chat, turn = answer(history, SECRET, tokens=[5, 6, 7, 8])
    with contextlib.closing(TextStore(paths.texts_file())) as texts:
        texts.put("notes", [StoredText("a.txt", "abc", "1"), StoredText("b.txt", "def", "1")])
    assert main(["datastore", "rebuild", "--model", str(chat_model)]) == 0
    return {"chat": chat, "turn": turn}


def run(capsys: Capture, *words: str, code: int = 0) -> tuple[str, str]:
    capsys.readouterr()
    assert main(["datastore", *words]) == code
    return capsys.readouterr()


def data(capsys: Capture, *words: str, code: int = 0) -> Any:
    return json.loads(run(capsys, *words, "--json", code=code)[0])


def store_folder() -> Path:
    (folder,) = [path for path in paths.datastore_folder().iterdir() if path.is_dir()]
    return folder


def test_an_empty_datastore_is_said(home: Path, capsys: Capture) -> None:
    assert run(capsys, "list") == ("", "sssd-chat: the datastore is empty; it fills as you chat.\n")
    assert data(capsys, "list") == []
    assert data(capsys, "check") == {"problems": []}
    assert data(capsys, "audit", "anything") == []


def test_an_index_that_cannot_be_read_is_not_called_empty(home: Path, capsys: Capture) -> None:
    manifest = paths.datastore_folder() / "0123456789abcdef" / "manifest.json"
    manifest.mkdir(parents=True)
    for command in ("list", "stats"):
        assert main(["datastore", command]) == 1
        told = capsys.readouterr().err
        assert "0123456789abcdef cannot be used" in told and "Traceback" not in told


def test_the_list_names_size_and_savings(filled: dict[str, Any], capsys: Capture) -> None:
    add_savings(paths.savings_file(), {"notes": Saving(1200, 61.04)})
    rows = {row["collection"]: row for row in data(capsys, "list")}
    assert sorted(rows) == ["chats", "notes", "starter/code"]
    assert rows["notes"]["documents"] == rows["starter/code"]["documents"] == 2
    assert (rows["notes"]["accepted_tokens"], rows["notes"]["seconds_saved"]) == (1200, 61.0)
    assert all(row["tokens"] > 0 and row["bytes"] > 0 for row in rows.values())
    lines = run(capsys, "list")[0].splitlines()
    assert len({len(line) for line in lines[1:]}) == 1
    (line,) = [line for line in lines if "notes" in line]
    assert "1,200" in line
    assert "61.0 s" in line
    add_savings(paths.savings_file(), {"chats": Saving(1, -0.04)})
    (line,) = [line for line in run(capsys, "list")[0].splitlines() if "  chats" in line]
    assert line.endswith(" 0.0 s") and "-" not in line


def test_the_statistics_add_up(filled: dict[str, Any], capsys: Capture) -> None:
    (item,) = data(capsys, "stats")
    assert item["collections"] == 3
    assert item["documents"] == 5
    assert item["bytes_per_token"] == pytest.approx(item["bytes"] / item["tokens"])
    assert run(capsys, "stats")[0].splitlines()[1].split()[1] == "5"


def test_damage_is_found_and_told(filled: dict[str, Any], capsys: Capture) -> None:
    path = next(store_folder().glob("*.segment"))
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert path.name in run(capsys, "check", code=1)[1]
    # What was damaged is set aside; what is left is whole.
    run(capsys, "check")


def test_a_rebuild_makes_up_for_damage(
    filled: dict[str, Any], chat_model: Path, capsys: Capture
) -> None:
    before = data(capsys, "list")
    for path in store_folder().glob("*.segment"):
        path.write_bytes(b"nonsense")
    run(capsys, "check", code=1)
    assert "indexed for" in run(capsys, "rebuild", "--model", str(chat_model))[1]
    assert data(capsys, "list") == before
    assert "3 segments became 3" in run(capsys, "compact")[1]


def test_an_audit_finds_until_it_is_forgotten(filled: dict[str, Any], capsys: Capture) -> None:
    traces = data(capsys, "audit", SECRET, code=1)
    assert any(Path(trace["path"]).name == "history.db" for trace in traces)
    assert "history.db" in run(capsys, "audit", SECRET, code=1)[0]
    assert "forgotten" in run(capsys, "forget", "--chat", str(filled["chat"]), "--yes")[1]
    assert data(capsys, "audit", SECRET) == []
    assert "holds this text" in run(capsys, "audit", SECRET)[1]


def test_forgetting_one_thing_leaves_the_rest(filled: dict[str, Any], capsys: Capture) -> None:
    run(capsys, "forget", "--document", "a.txt", "--yes")
    rows = {row["collection"]: row["documents"] for row in data(capsys, "list")}
    assert rows == {"chats": 1, "notes": 1, "starter/code": 2}
    assert "(1 document)" in run(capsys, "forget", "--collection", "notes", "--yes")[1]
    run(capsys, "forget", "--collection", "starter/code", "--yes")
    assert [row["collection"] for row in data(capsys, "list")] == ["chats"]
    run(capsys, "forget", "--all", "--yes")
    assert data(capsys, "list") == []


def test_a_document_goes_by_its_path_from_here_too(
    home: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with contextlib.closing(TextStore(paths.texts_file())) as texts:
        kept = [StoredText(str(tmp_path / name), name, "1") for name in ("a.txt", "b.txt")]
        texts.put("notes", kept)
        monkeypatch.chdir(tmp_path)
        run(capsys, "forget", "--document", "a.txt", "--yes")
        assert set(texts.digests("notes")) == {str(tmp_path / "b.txt")}
        run(capsys, "forget", "--document", str(tmp_path / "b.txt"), "--yes")
        assert not texts.digests("notes")


def test_a_rebuild_brings_forgotten_starters_back(
    filled: dict[str, Any], chat_model: Path, capsys: Capture
) -> None:
    run(capsys, "forget", "--collection", "starter/code", "--yes")
    run(capsys, "rebuild", "--model", str(chat_model), "--no-starter")
    assert "starter/code" not in {row["collection"] for row in data(capsys, "list")}
    run(capsys, "rebuild", "--model", str(chat_model))
    assert "starter/code" in {row["collection"] for row in data(capsys, "list")}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["forget", "--chat", "77"], "no chat 77"),
        (["forget", "--collection", "none"], "no collection none"),
        (["forget", "--document", "none"], "none."),
        (["forget", "--all"], "--yes"),
        (["audit", "  "], "no text"),
        (["rebuild", "--model", "/nowhere/model.gguf"], "model.gguf"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    filled: dict[str, Any], capsys: Capture, words: list[str], said: str
) -> None:
    printed, told = run(capsys, *words, code=1)
    assert printed == ""
    assert said in told
    assert "Traceback" not in told


@pytest.mark.parametrize("words", [[], ["forget"], ["forget", "--chat", "0"], ["audit"]])
def test_wrong_usage(home: Path, words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["datastore", *words])
    assert ended.value.code == 2


def test_a_person_is_asked_first(home: Path) -> None:
    with contextlib.closing(TextStore(paths.texts_file())) as texts:
        texts.put("notes", [StoredText("a.txt", "abc", "1")])
    for reply, left in (("n\r", ["notes"]), ("y\r", [])):
        terminal = Terminal(["datastore", "forget", "--collection", "notes"])
        try:
            terminal.wait_for("for good?")
            terminal.type(reply)
            terminal.exit_code()
        finally:
            terminal.close()
        with contextlib.closing(TextStore(paths.texts_file())) as texts:
            assert texts.collections() == left


def test_a_writer_that_does_not_step_back_is_said(
    filled: dict[str, Any], chat_model: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sssd_chat.cli.datastore_upkeep._WAIT_SECONDS", 0.2)
    with contextlib.closing(Datastore(store_folder())):
        told = run(capsys, "rebuild", "--model", str(chat_model), code=1)[1]
        assert "close it first" in told
        # Reading needs no lock.
        assert len(data(capsys, "list")) == 3
