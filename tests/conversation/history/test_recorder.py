"""Nothing that was kept is lost, whatever happens to the program."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from array import array
from pathlib import Path

import pytest

from sssd_chat.conversation.history import ChatRecorder, History, NoSuchChat, StoredTurn
from sssd_chat.errors import UserError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "history.db"


def stored(path: Path) -> list[StoredTurn]:
    history = History(path)
    try:
        chat = history.last_chat()
        return [] if chat is None else [turn for _, turn in history.turns(chat)]
    finally:
        history.close()


def test_a_chat_is_kept_and_read_again(path: Path) -> None:
    recorder = ChatRecorder(path)
    assert recorder.question("hello", "be kind", "tiny")
    recorder.answer("go", [1, 2], "streaming")
    recorder.answer("good", [1, 2, 3], "done")
    assert recorder.question("more", "be kind", "tiny")
    recorder.answer("ye", [4], "stopped")
    recorder.close()
    assert stored(path) == [
        StoredTurn("user", "hello", "done", "tiny"),
        StoredTurn("assistant", "good", "done", "tiny"),
        StoredTurn("user", "more", "done", "tiny"),
        StoredTurn("assistant", "ye", "stopped", "tiny"),
    ]
    tokens = sqlite3.connect(path).execute("SELECT tokens FROM turns WHERE id = 2").fetchone()[0]
    assert len(tokens) == 12


def test_a_chat_goes_on_where_it_was(path: Path) -> None:
    recorder = ChatRecorder(path)
    recorder.question("hello", "", "tiny")
    recorder.answer("good", [1], "done")
    recorder.close()
    recorder = ChatRecorder(path, resume=True)
    assert [turn.text for turn in recorder.earlier()] == ["hello", "good"]
    recorder.question("more", "", "tiny")
    recorder.close()
    assert [turn.text for turn in stored(path)] == ["hello", "good", "more"]


def test_any_chat_goes_on_with_its_system_prompt(path: Path) -> None:
    recorder = ChatRecorder(path)
    recorder.question("one", "be kind", "tiny")
    chat = recorder.chat
    recorder.new_chat()
    assert recorder.chat is None
    recorder.question("two", "", "tiny")
    recorder.close()
    recorder = ChatRecorder(path, chat=chat)
    assert [turn.text for turn in recorder.earlier()] == ["one"]
    assert (recorder.chat, recorder.system) == (chat, "be kind")
    recorder.close()
    recorder = ChatRecorder(path, chat=99)
    with pytest.raises(NoSuchChat):
        recorder.earlier()
    recorder.close()


def test_the_number_of_an_answer_comes_when_it_is_kept(path: Path) -> None:
    recorder = ChatRecorder(path)
    assert recorder.answer("to nothing", [], "done").result() is None
    recorder.question("hello", "", "tiny", "0123456789abcdef")
    first = recorder.answer("go", [1], "streaming")
    last = recorder.answer("good", [1, 2], "done", '{"a": 1}', '{"b": 2}')
    assert first.result() == last.result() == 2
    recorder.close()
    with contextlib.closing(History(path)) as history:
        (answer,) = history.answers()
        assert (answer.turn, answer.text, answer.tokens) == (2, "good", array("i", [1, 2]))
        assert answer.fingerprint == "0123456789abcdef"
        record = history.branch(answer.chat)[-1]
        assert (record.parameters, record.statistics) == ('{"a": 1}', '{"b": 2}')


def test_two_that_go_on_with_one_chat_make_branches(path: Path) -> None:
    recorder = ChatRecorder(path)
    recorder.question("hello", "", "tiny")
    recorder.answer("good", [1], "done")
    recorder.close()
    recorders = [ChatRecorder(path, resume=True) for _ in range(2)]
    for recorder in recorders:
        recorder.earlier()
    for name, recorder in zip("ab", recorders, strict=True):
        recorder.question(f"question {name}", "", "tiny")
    for name, recorder in zip("ab", recorders, strict=True):
        recorder.answer(f"answer {name}", [2], "done")
        recorder.close()
    with contextlib.closing(History(path)) as history:
        (chat,) = history.chats()
        assert chat.turns == 6
        records = {record.text: record for record in history.records(chat.id)}
        for name in "ab":
            assert records[f"answer {name}"].parent == records[f"question {name}"].id
            assert records[f"question {name}"].parent == records["good"].id


def test_what_follows_a_deleted_chat_is_not_all_that_was_said(path: Path) -> None:
    recorder = ChatRecorder(path)
    assert not recorder.is_kept()
    recorder.question("secret", "", "tiny")
    assert recorder.is_kept()
    with contextlib.closing(History(path)) as history:
        history.delete_everything()
    assert not recorder.is_kept()
    for question in ("more", "and more"):
        recorder.question(question, "", "tiny")
        recorder.answer("answer", [], "done").result()
        # The session, and with it the KV state, still holds the secret.
        assert not recorder.is_kept()
    recorder.new_chat()
    recorder.question("else", "", "tiny")
    assert recorder.is_kept()
    recorder.close()


def test_a_new_chat_is_a_chat_of_its_own(path: Path) -> None:
    recorder = ChatRecorder(path)
    recorder.question("one", "", "tiny")
    recorder.new_chat()
    recorder.question("two", "", "tiny")
    recorder.close()
    assert [turn.text for turn in stored(path)] == ["two"]


def test_only_the_owner_can_read(path: Path) -> None:
    recorder = ChatRecorder(path)
    recorder.question("secret", "", "tiny")
    for file in [path, *path.parent.glob("history.db*")]:
        assert file.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0
    recorder.close()


@pytest.mark.parametrize("text", ["a\x00b", "\ud800 alone", "🙂" * 3, "x" * 1_000_000, "‮abc"])
def test_any_text_can_be_kept(path: Path, text: str) -> None:
    recorder = ChatRecorder(path)
    assert recorder.question(text, text, "tiny")
    recorder.answer(text, [1], "done")
    recorder.close()
    assert [turn.text for turn in stored(path)] == [text, text]


def test_a_killed_program_leaves_question_and_partial_answer(path: Path) -> None:
    script = f"""
        import sys, time
        from pathlib import Path
        from sssd_chat.conversation.history import ChatRecorder
        recorder = ChatRecorder(Path({str(path)!r}))
        recorder.question("hello", "", "tiny")
        print("asked", flush=True)
        for n in range(10_000):
            recorder.answer("word " * n, list(range(n)), "streaming")
            time.sleep(0.001)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "asked\n"
    threading.Event().wait(0.3)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    turns = stored(path)
    assert turns[0] == StoredTurn("user", "hello", "done", "tiny")
    assert turns[1].status == "streaming"
    assert turns[1].text.startswith("word ")


def test_several_programs_write_at_once(path: Path) -> None:
    script = f"""
        import sys
        from pathlib import Path
        from sssd_chat.conversation.history import ChatRecorder
        recorder = ChatRecorder(Path({str(path)!r}))
        for n in range(20):
            assert recorder.question(f"{{sys.argv[1]}} {{n}}", "", "tiny"), recorder.problem
            recorder.answer("yes", [n], "done")
        recorder.close()
        assert not recorder.problem
    """
    processes = [
        subprocess.Popen([sys.executable, "-c", textwrap.dedent(script), str(n)]) for n in range(4)
    ]
    assert [process.wait() for process in processes] == [0] * 4
    count = sqlite3.connect(path).execute("SELECT count(*) FROM turns").fetchone()[0]
    assert count == 4 * 20 * 2


def test_a_disk_that_refuses_is_told_and_the_chat_goes_on(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where the folder should be")
    recorder = ChatRecorder(tmp_path / "data" / "history.db")
    assert not recorder.question("hello", "", "tiny")
    assert "not being kept" in recorder.problem
    recorder.answer("good", [1], "done")
    recorder.close()


def test_a_database_that_is_none_is_told(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(UserError, match="not a readable database"):
        History(path)
    assert path.read_bytes().startswith(b"not a database")


def test_a_newer_database_is_left_alone(path: Path) -> None:
    History(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(UserError, match="newer version"):
        History(path)
