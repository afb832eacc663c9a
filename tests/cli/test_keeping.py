"""`sssd-chat ask` with a chat that goes on: nothing is lost, whoever else is at it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sssd_chat import paths
from sssd_chat.config import change_setting
from sssd_chat.conversation.history import History
from tests.cli.running import run
from tests.cli.test_ask import as_json, ask
from tests.tiny_models import CHATML_TEMPLATE, tiny_model

SHORT = ("--max-tokens", "8")


@pytest.fixture
def history(home: Path) -> Iterator[History]:
    with contextlib.closing(History(paths.history_file())) as history:
        yield history


def texts(history: History, chat: int) -> list[str]:
    return [turn.text for _, turn in history.turns(chat)]


def test_a_chat_goes_on_with_question_and_answer(chat_model: Path, history: History) -> None:
    first = as_json(chat_model, "--continue", "hello", *SHORT)
    second = as_json(chat_model, "--continue", "more", *SHORT)
    assert second["chat"] == first["chat"]
    assert second["prompt_tokens"] > first["prompt_tokens"] + 8
    chat = first["chat"]
    assert texts(history, chat) == ["hello", first["text"], "more", second["text"]]
    answer = history.branch(chat)[-1]
    assert answer.id == second["turn"]
    assert answer.status == "done"
    assert answer.tokens is not None and len(answer.tokens) == second["tokens"]
    assert answer.fingerprint == second["model"]["fingerprint"]
    assert json.loads(answer.statistics)["emitted"] == second["tokens"]
    assert json.loads(answer.statistics)["stopped_by"] == second["stopped_by"]
    assert json.loads(answer.parameters)["sampler"]["temperature"] == 0


def test_a_chat_goes_on_by_its_number(chat_model: Path, history: History) -> None:
    chat = history.add_chat("first", "be kind")
    question = history.add_turn(chat, None, "user", "first", "done", "tiny")
    history.add_turn(chat, question, "assistant", "yes", "done", "tiny")
    history.add_chat("another", "")
    answer = as_json(chat_model, "--chat", str(chat), "more", *SHORT)
    assert answer["chat"] == chat
    assert texts(history, chat) == ["first", "yes", "more", answer["text"]]


def test_a_chat_that_there_is_not_is_told(chat_model: Path, home: Path) -> None:
    result = ask(chat_model, "--chat", "99", "hello")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        "sssd-chat: There is no chat 99; `sssd-chat chats list` shows those there are.\n"
    )


@pytest.mark.parametrize("words", [("--chat", "0"), ("--chat", "x"), ("--chat", "1", "--continue")])
def test_wrong_choices_are_wrong_usage(words: tuple[str, ...]) -> None:
    assert run("ask", "hello", *words).returncode == 2


def test_a_plain_question_is_kept_only_on_request(chat_model: Path, home: Path) -> None:
    assert as_json(chat_model, "hello", *SHORT)["chat"] is None
    assert not paths.history_file().exists()
    change_setting(paths.config_file(), "history.keep_asked", "true")
    assert as_json(chat_model, "hello", *SHORT)["chat"] == 1


def test_no_chat_goes_on_where_none_is_kept(chat_model: Path, home: Path) -> None:
    change_setting(paths.config_file(), "history.keep", "false")
    assert "config set history.keep true" in ask(chat_model, "--continue", "hello").stderr
    assert not paths.history_file().exists()


def test_many_at_once_lose_nothing(chat_model: Path, history: History) -> None:
    as_json(chat_model, "--continue", "hello", *SHORT)
    command = [sys.executable, "-m", "sssd_chat", "ask", "--continue", "--json", *SHORT]
    command += ["--model", str(chat_model), "--threads", "1"]
    processes = [
        subprocess.Popen(
            [*command, f"question {n}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(3)
    ]
    answers = []
    for process in processes:
        out, error = process.communicate(timeout=60)
        assert process.returncode == 0, error
        assert "locked" not in error and "not being kept" not in error
        answers.append(json.loads(out))
    (chat,) = {answer["chat"] for answer in answers}
    records = {record.id: record for record in history.records(chat)}
    assert len(records) == 8
    for n, answer in enumerate(answers):
        record = records[answer["turn"]]
        assert record.text == answer["text"]
        assert records[record.parent or 0].text == f"question {n}"


def test_a_killed_answer_is_there_in_part(models: Path, history: History) -> None:
    model = tiny_model(models, chat_template=CHATML_TEMPLATE, context_length=100_000)
    command = [sys.executable, "-m", "sssd_chat", "ask", "--continue", "hello", "--no-draft"]
    command += ["--ctx", "100000", "--model", str(model), "--threads", "1"]
    devnull = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=devnull, stdout=devnull, stderr=devnull)
    try:
        until = time.monotonic() + 30
        while time.monotonic() < until and len(list(history.records(1))) < 2:
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    question, answer = history.branch(1)
    assert (question.text, question.status) == ("hello", "done")
    assert answer.status == "streaming"
    assert answer.tokens and answer.text


def test_a_history_that_cannot_be_read_is_told(chat_model: Path, home: Path) -> None:
    paths.history_file().parent.mkdir(parents=True)
    paths.history_file().write_bytes(b"no database" * 100)
    result = ask(chat_model, "--continue", "hello")
    assert result.returncode == 1
    assert "not a readable database" in result.stderr
    assert result.stderr.count("\n") == 1


def test_settings_count_and_options_go_before_them(chat_model: Path, home: Path) -> None:
    change_setting(paths.config_file(), "answer.max_tokens", "3")
    change_setting(paths.config_file(), "answer.temperature", "0")
    change_setting(paths.config_file(), "model.path", str(chat_model))
    change_setting(paths.config_file(), "model.threads", "1")
    change_setting(paths.config_file(), "answer.drafting", "false")
    result = run("ask", "--json", "hello")
    answer = json.loads(result.stdout)
    assert (answer["tokens"], answer["drafting"]) == (3, "drafts off: switched off")
    answer = json.loads(run("ask", "--json", "hello", "--max-tokens", "2", "--draft").stdout)
    assert answer["tokens"] == 2
    assert answer["drafting"] != "drafts off: switched off"


def test_wrong_settings_are_told_and_the_answer_comes(chat_model: Path, home: Path) -> None:
    paths.config_file().parent.mkdir(parents=True)
    paths.config_file().write_text("[answer]\ntop_p = 7\n")
    result = ask(chat_model, "hello", *SHORT)
    assert result.returncode == 0
    assert "answer.top_p is 7, expected a number from 0 to 1" in result.stderr
