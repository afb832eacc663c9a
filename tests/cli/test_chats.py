"""`sssd-chat chats`."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sssd_chat import paths
from sssd_chat.cli.main import main
from sssd_chat.conversation.history import History
from tests.conversation.exchange import samples
from tests.terminal import Terminal

Capture = pytest.CaptureFixture[str]
EVIL = "a\0b \x1b[31mred \ud800 \u202eabc\r\n" + "line\n" * 10


@pytest.fixture
def history(home: Path) -> Iterator[History]:
    with contextlib.closing(History(paths.history_file())) as history:
        yield history


def add(history: History, *texts: str, system: str = "") -> int:
    chat = history.add_chat(texts[0], system)
    turn: int | None = None
    for place, text in enumerate(texts):
        role = ("user", "assistant")[place % 2]
        turn = history.add_turn(chat, turn, role, text, "done", "tiny")
    return chat


def out(capsys: Capture, *words: str, code: int = 0) -> str:
    assert main(["chats", *words]) == code
    return capsys.readouterr().out


def data(capsys: Capture, *words: str) -> list[dict]:
    return json.loads(out(capsys, *words, "--json"))


def test_without_chats_it_says_so(home: Path, capsys: Capture) -> None:
    assert main(["chats", "list"]) == 0
    assert capsys.readouterr() == ("", "sssd-chat: there are no chats yet.\n")


def test_listing(history: History, capsys: Capture) -> None:
    chats = [add(history, f"chat {n}", "yes") for n in range(3)]
    lines = out(capsys, "list").splitlines()
    assert [int(line.split()[0]) for line in lines] == chats[::-1]
    assert lines[0].endswith("2 turns  chat 2")
    assert [chat["id"] for chat in data(capsys, "list", "--limit", "2")] == chats[:0:-1]
    assert data(capsys, "list", "--limit", "1", "--all")[-1]["title"] == "chat 0"
    add(history, "one", "two")
    add(history, "asked")
    alone, answered, *_ = out(capsys, "list").splitlines()
    assert alone.endswith("1 turn   asked") and answered.endswith("2 turns  one")


def test_searching(history: History, capsys: Capture) -> None:
    chat = add(history, "hello", "here is the Needle")
    add(history, "something else")
    assert out(capsys, "search", "needle", "here").splitlines()[1].strip() == "here is the Needle"
    (hit,) = data(capsys, "search", "needle")
    assert (hit["id"], hit["turn"], hit["role"]) == (chat, 2, "assistant")
    assert [hit["excerpt"][begin:end] for begin, end in hit["matches"]] == ["Needle"]
    assert main(["chats", "search", "nowhere"]) == 0
    assert capsys.readouterr() == ("", "sssd-chat: nothing was found.\n")


def test_a_terminal_sees_what_was_found_and_nothing_harmful(history: History) -> None:
    add(history, f"needle {EVIL}")
    terminal = Terminal(["chats", "search", "needle"])
    try:
        assert terminal.exit_code() == 0
        assert b"\x1b[1mneedle\x1b[0m" in terminal.raw
        assert b"\x1b[31m" not in terminal.raw
    finally:
        terminal.close()
    terminal = Terminal(["chats", "show", "1"])
    try:
        assert terminal.exit_code() == 0
        assert "red" in terminal.text
        assert b"\x1b" not in terminal.raw and b"\0" not in terminal.raw
    finally:
        terminal.close()


def test_showing(history: History, capsys: Capture) -> None:
    chat = add(history, "hello", EVIL, system="be kind")
    shown = out(capsys, "show", str(chat))
    assert "## System prompt\n\nbe kind" in shown
    assert EVIL.replace("\ud800", "\ufffd").strip("\n") in shown
    (record,) = data(capsys, "show", str(chat))
    assert [turn["text"] for turn in record["turns"]] == ["hello", EVIL]


def test_renaming(history: History, capsys: Capture) -> None:
    chat = add(history, "hello")
    out(capsys, "rename", str(chat), "Another", "title")
    assert history.chat(chat).title == "Another title"
    assert main(["chats", "rename", str(chat), " ", "\x1b"]) == 1
    assert "title" in capsys.readouterr().err
    assert history.chat(chat).title == "Another title"


LARGE = str(10**20)


@pytest.mark.parametrize(
    "words",
    [
        *(["chats", kind, LARGE] for kind in ("show", "delete", "export")),
        ["chats", "rename", LARGE, "title"],
        *(["chats", kind, "--limit", LARGE] for kind in ("list", "search")),
        ["datastore", "forget", "--chat", LARGE],
        ["ask", "--chat", LARGE, "hello"],
        ["--chat", LARGE],
        ["ask", "--temperature", "1e30", "hello"],
    ],
)
def test_a_number_that_no_database_holds_is_wrong_usage(
    words: list[str], history: History, capsys: Capture
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words + (["hello"] if "search" in words else []))
    assert caught.value.code == 2
    assert "out of range: it may be " in capsys.readouterr().err


def test_deleting(history: History, capsys: Capture) -> None:
    first, second, third = (add(history, f"marker {n}") for n in range(3))
    out(capsys, "delete", str(first), str(third))
    assert [chat.id for chat in history.chats()] == [second]
    files = [file for file in paths.data_folder().rglob("*") if file.is_file()]
    assert not any(b"marker 0" in file.read_bytes() for file in files)
    out(capsys, "delete", str(second), "99", code=1)
    assert history.has_chat(second)


@pytest.mark.parametrize(("reply", "code"), [("n", 1), ("y", 0)])
def test_a_terminal_is_asked_before_deleting(history: History, reply: str, code: int) -> None:
    add(history, "hello")
    terminal = Terminal(["chats", "delete", "1"])
    try:
        terminal.wait_for("[y/N]")
        terminal.type(f"{reply}\r")
        assert terminal.exit_code() == code
    finally:
        terminal.close()
    assert history.has_chat(1) == (code == 1)


@pytest.mark.parametrize("words", [["show"], ["rename"], ["delete"], ["export"]])
def test_a_chat_that_there_is_not_is_told(words: list[str], home: Path, capsys: Capture) -> None:
    words += ["7", "x"] if words == ["rename"] else ["7"]
    assert main(["chats", *words]) == 1
    assert capsys.readouterr().err.startswith("sssd-chat: There is no chat 7;")


@pytest.mark.parametrize(
    "words",
    [[], ["show"], ["show", "0"], ["export"], ["export", "1", "--all"], ["delete", "x"], ["nope"]],
)
def test_wrong_usage(words: list[str], home: Path, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as error:
        main(["chats", *words])
    assert error.value.code == 2


def test_exporting_and_importing(
    history: History, tmp_path: Path, home: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole, with texts that hold anything, into the history of somebody else."""
    chats = [add(history, "hello", EVIL, system=EVIL), add(history, "x" * 1_000_000)]
    history.add_turn(chats[0], 1, "assistant", "another branch", "stopped", "tiny")
    file = tmp_path / "chats.json"
    out(capsys, "export", "--all", "-o", str(file))
    assert file.stat().st_mode & 0o077 == 0
    monkeypatch.setenv("SSSD_CHAT_HOME", str(tmp_path / "other"))
    assert json.loads(out(capsys, "import", str(file), "--json"))["imported"] == [1, 2]
    assert json.loads(out(capsys, "import", str(file), "--json")) == {
        "imported": [],
        "known": 2,
        "problems": [],
    }
    again = tmp_path / "again.json"
    out(capsys, "export", "1", "2", "-o", str(again))
    assert again.read_bytes() == file.read_bytes()


def test_formats_of_exports(history: History, tmp_path: Path, capsys: Capture) -> None:
    chat = str(add(history, "hello", "good"))
    assert out(capsys, "export", chat).startswith("# hello\n")
    assert json.loads(out(capsys, "export", chat, "--format", "json"))[0]["format"] == "sssd-chat"
    shared = json.loads(out(capsys, "export", "--all", "--format", "sharegpt"))
    assert shared[0]["conversations"][1] == {"from": "gpt", "value": "good"}
    file = tmp_path / "chat.md"
    out(capsys, "export", chat, "-o", str(file))
    assert file.read_text().startswith("# hello\n")
    file.write_text("mine")
    out(capsys, "export", chat, "-o", str(file), code=1)
    assert file.read_text() == "mine"
    missing = tmp_path / "no" / "such" / "chat.md"
    out(capsys, "export", chat, "-o", str(missing), code=1)
    assert not (tmp_path / "no").exists()
    out(capsys, "export", chat, "-o", str(file), "--force")
    assert file.read_text().startswith("# hello\n")
    out(capsys, "export", chat, "-o", str(tmp_path), "--force", code=1)


def test_what_cannot_be_imported_is_told_and_the_rest_is_there(
    home: Path, tmp_path: Path, capsys: Capture
) -> None:
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.json"
    good.write_text(json.dumps(samples.chatgpt()) + "\n{broken\n" + json.dumps({"x": 1}) + "\n")
    bad.write_text("no chats")
    assert main(["chats", "import", str(good), str(bad), str(tmp_path / "none.json")]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert lines[0] == f"sssd-chat: {good}, line 2: not imported, it is not valid JSON."
    assert lines[1] == f"sssd-chat: {good}, line 3: not imported, its format is unknown."
    assert "bad.json holds no chats" in lines[2]
    assert "none.json cannot be read" in lines[3]
    assert lines[4:] == ["sssd-chat: 1 chat imported."]


def test_a_history_that_cannot_be_read_is_told(home: Path, capsys: Capture) -> None:
    paths.history_file().parent.mkdir(parents=True)
    paths.history_file().write_bytes(b"no database" * 100)
    for words in (["list"], ["delete", "1"], ["search", "x"]):
        assert main(["chats", *words]) == 1
        error = capsys.readouterr().err
        assert "not a readable database" in error
        assert error.count("\n") == 1


def test_a_folder_that_cannot_be_made_is_told(home: Path, capsys: Capture) -> None:
    home.write_text("a file where the folder should be")
    assert main(["chats", "list"]) == 1
    error = capsys.readouterr().err
    assert "history.db cannot be used" in error
    assert error.count("\n") == 1
