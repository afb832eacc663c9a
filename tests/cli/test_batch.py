"""`sssd-chat batch`: answered once each, whatever happens."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sssd_chat.cli.main import main
from sssd_chat.conversation.batch.earlier import texts_of
from sssd_chat.conversation.batch.lines import LineId
from sssd_chat.conversation.batch.output import AnswerFile
from sssd_chat.conversation.learning import Learner
from sssd_chat.datastore.document import Document

REQUESTS = 12


def requests_file(path: Path, count: int = REQUESTS, tokens: int = 12) -> Path:
    lines = []
    for number in range(count):
        question = f"question {number}"
        if number % 3 == 0:
            lines.append({"prompt": question, "max_tokens": tokens})
        else:
            body = {"messages": [{"role": "user", "content": question}], "max_tokens": tokens}
            url = "/v1/chat/completions"
            lines.append({"custom_id": f"c{number}", "method": "POST", "url": url, "body": body})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def batch_arguments(model: Path, requests: Path | str, out: Path, *options: str) -> list[str]:
    return [
        *("batch", str(requests), "-o", str(out), "--model", str(model), "--ctx", "256"),
        *("--threads", "1", "--no-starter", "--temperature", "0", "--parallel", "3", *options),
    ]


def answers(out: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_a_file_is_answered_in_order(
    chat_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    requests, out = requests_file(tmp_path / "in.jsonl"), tmp_path / "out.jsonl"
    assert main(batch_arguments(chat_model, requests, out, "--ordered")) == 0
    found = answers(out)
    assert [one["input"]["line"] for one in found] == list(range(1, REQUESTS + 1))  # type: ignore[index]
    for number, one in enumerate(found):
        if number % 3 == 0:
            assert isinstance(one["text"], str) and one["usage"]
        else:
            assert one["custom_id"] == f"c{number}" and one["error"] is None
            response = one["response"]
            assert isinstance(response, dict) and response["status_code"] == 200
            assert response["body"]["choices"][0]["message"]["role"] == "assistant"
    said = capsys.readouterr()
    assert said.out == "" and "12 of 12" in said.err and "tokens/s" in said.err
    before = out.read_bytes()
    assert main(batch_arguments(chat_model, requests, out, "--quiet")) == 0
    assert out.read_bytes() == before
    assert capsys.readouterr().err == ""


def test_a_bad_line_costs_itself_alone(
    chat_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    requests, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    requests.write_bytes(
        b'{"prompt": "a", "max_tokens": 2}\n\n{"prompt": \n\xff\n'
        b'{"custom_id": "x", "url": "/v1/chat/completions", "body": {"messages": 3}}\n'
        b'{"prompt": "a", "grammar": "no grammar"}\n'
        b'{"prompt": "' + b"a " * 3000 + b'"}\n{"prompt": "b", "max_tokens": 2}'
    )
    assert main(batch_arguments(chat_model, requests, out, "--ordered")) == 1
    found = answers(out)
    assert [one["input"]["line"] for one in found] == [1, 3, 4, 5, 6, 7, 8]  # type: ignore[index]
    assert ["text" in one for one in found] == [True, *[False] * 5, True]
    assert found[3]["custom_id"] == "x"
    response = found[3]["response"]
    assert isinstance(response, dict) and response["status_code"] == 400
    assert response["body"]["error"]["param"] == "messages"
    assert "5 requests could not be answered" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda requests, out: out.write_text('{"a": 1}\n'), "something else"),
        (lambda requests, out: requests.write_text("\n \n"), "no requests"),
        (lambda requests, out: requests.unlink(), "cannot be read"),
        (lambda requests, out: out.mkdir(), "is no file"),
        (lambda requests, out: out.hardlink_to(requests), "holds the requests"),
    ],
)
def test_files_that_cannot_be_used(
    chat_model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: object,
    said: str,
) -> None:
    requests, out = requests_file(tmp_path / "in.jsonl"), tmp_path / "out.jsonl"
    change(requests, out)  # type: ignore[operator]
    assert main(batch_arguments(chat_model, requests, out)) == 1
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


def test_another_input_is_refused(
    chat_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    requests, out = requests_file(tmp_path / "in.jsonl", 2), tmp_path / "out.jsonl"
    assert main(batch_arguments(chat_model, requests, out)) == 0
    requests.write_text(requests.read_text().replace("question 1", "question 9"))
    before = out.read_bytes()
    assert main(batch_arguments(chat_model, requests, out)) == 1
    assert "something else than answers to this input" in capsys.readouterr().err
    assert out.read_bytes() == before


def test_an_input_may_grow(chat_model: Path, tmp_path: Path) -> None:
    requests, out = requests_file(tmp_path / "in.jsonl", 2), tmp_path / "out.jsonl"
    arguments = batch_arguments(chat_model, requests, out, "--quiet")
    assert main(arguments) == 0
    before = answers(out)
    with requests.open("a") as file:
        file.write('{"prompt": "one more", "max_tokens": 2}\n')
    assert main(arguments) == 0
    assert answers(out)[:2] == before and len(answers(out)) == 3


def started(arguments: list[str], home: Path, **options: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "sssd_chat", *arguments],
        env={**os.environ, "SSSD_CHAT_HOME": str(home)},
        **options,  # type: ignore[call-overload]
    )


def test_standard_input(chat_model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    process = started(
        batch_arguments(chat_model, "-", out, "--quiet", "--share-datastore"),
        tmp_path / "home",
        stdin=subprocess.PIPE,
    )
    process.communicate(b'{"prompt": "a", "max_tokens": 3}\n{"prompt": "b", "max_tokens": 3}\n')
    assert process.returncode == 0
    assert len(answers(out)) == 2


def test_killed_at_any_moment_each_is_answered_once(chat_model: Path, tmp_path: Path) -> None:
    requests = requests_file(tmp_path / "in.jsonl", 40, 40)
    out, home = tmp_path / "out.jsonl", tmp_path / "home"
    chance = random.Random(5)
    kills = 0
    for attempt in range(30):
        process = started(batch_arguments(chat_model, requests, out, "--quiet"), home)
        target = chance.randrange(1, 12) + (
            len(out.read_bytes().splitlines()) if out.exists() else 0
        )
        while process.poll() is None:
            if attempt < 3 and out.exists() and out.read_bytes().count(b"\n") >= target:
                process.kill()
                kills += 1
            time.sleep(0.01)
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL
        if chance.random() < 0.5:
            # What a crash of the whole machine may leave.
            content = out.read_bytes()
            out.write_bytes(content[: len(content) - chance.randrange(1, 30)])
    assert kills >= 2
    lines = [one["input"]["line"] for one in answers(out)]  # type: ignore[index]
    assert sorted(lines) == list(range(1, 41))


def test_what_was_answered_before_a_kill_is_drafted_from_again(
    chat_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests, out = requests_file(tmp_path / "in.jsonl", 40, 40), tmp_path / "out.jsonl"
    arguments = batch_arguments(chat_model, requests, out, "--quiet", "--share-datastore")
    process = started(arguments, tmp_path / "home")
    while not (out.exists() and out.read_bytes().count(b"\n") >= 5):
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait(60)
    before = list(texts_of(out.read_bytes().splitlines()))
    assert 5 <= len(before) < 40
    added: list[int] = []
    add = Learner.add

    def watched(self: Learner, collection: str, document: Document) -> None:
        assert collection.startswith("shared-")
        added.append(len(document.tokens))
        add(self, collection, document)

    monkeypatch.setattr(Learner, "add", watched)
    assert main(arguments) == 0
    assert len(answers(out)) == 40
    # Each of the earlier ones, and each of the new ones.
    assert len(added) == 40
    assert min(added) > 0


def test_of_a_long_file_of_answers_the_end_is_drafted_from(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    with contextlib.closing(AnswerFile(out, lambda _: True)) as file:
        for number in range(1, 101):
            file.add(LineId(number, "d"), {"text": f"answer {number}"})
        whole = out.read_bytes().splitlines(keepends=True)
        assert file.latest(1 << 20) == whole
        for most in range(0, 300, 7):
            latest = file.latest(most)
            assert latest == whole[len(whole) - len(latest) :]
            size = sum(map(len, latest))
            assert size <= most < size + len(whole[-1 - len(latest)])
        # Writing goes on at the end.
        file.add(LineId(101, "d"), {"text": "last"})
    assert out.read_bytes().splitlines()[-1].endswith(b'"text": "last"}')


def test_all_that_answers_said_is_found_in_them() -> None:
    chat = {"message": {"content": "b", "reasoning_content": "a"}}
    lines = [
        {"text": "plain", "thinking": "thought"},
        {"text": "c", "choices": [chat, {"message": {"content": "d"}}]},
        {"response": {"body": {"choices": [{"text": "e"}, chat]}}},
        {"error": {"message": "no"}},
        {"response": {"status_code": 400, "body": {"error": {}}}},
        {"response": None, "text": 3, "thinking": None},
        {"choices": ["x", {"message": "y"}]},
        ["text"],
    ]
    encoded = [json.dumps(line).encode() for line in lines]
    assert list(texts_of([b"\xff", b"{", b"[" * 100_000, *encoded])) == [
        *("thought", "plain", "a", "b", "d", "e", "a", "b"),
    ]


def test_interrupted_it_goes_on_later(chat_model: Path, tmp_path: Path) -> None:
    requests, out = requests_file(tmp_path / "in.jsonl", 60, 60), tmp_path / "out.jsonl"
    arguments = batch_arguments(chat_model, requests, out, "--quiet")
    process = started(arguments, tmp_path / "home")
    while not (out.exists() and out.read_bytes()):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert 0 < len(answers(out)) < 60
    assert main(arguments) == 0
    assert sorted(one["input"]["line"] for one in answers(out)) == list(range(1, 61))  # type: ignore[index]
