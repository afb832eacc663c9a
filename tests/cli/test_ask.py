"""`sssd-chat ask` as a person or a script runs it: in a process of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import Result, run, run_fresh
from tests.tiny_models import CHATML_TEMPLATE, Architecture, tiny_model


def ask(
    model: Path,
    *words: str,
    stdin: str | bytes | None = "",
    by: Callable[..., Result] = run,
) -> Result:
    common = ("--model", str(model), "--temperature", "0", "--threads", "1")
    return by("ask", *common, *words, stdin=stdin)


def as_json(model: Path, *words: str, stdin: str | bytes | None = "") -> dict:
    result = ask(model, "--json", *words, stdin=stdin)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_a_smaller_cache_answers_too_and_what_cannot_be_had_is_refused(models: Path) -> None:
    model = tiny_model(models, chat_template=CHATML_TEMPLATE, can_end=True, head_width=32)
    small = ("--cache-type-k", "q8_0", "--cache-type-v", "q8_0", "--threads-batch", "1")
    answer = as_json(model, "hello", "--max-tokens", "10", *small)
    assert answer["tokens"] >= 1
    result = ask(model, "hello", *small, "--flash-attn", "off")
    assert result.returncode == 2 and result.stdout == ""
    assert "q8_0 needs flash attention" in result.stderr and result.stderr.count("\n") == 1


def test_the_object_says_everything(chat_model: Path) -> None:
    answer = as_json(chat_model, "hello there", "--max-tokens", "20")
    assert answer["tokens"] >= answer["steps"] >= 1
    assert answer["tokens_per_step"] == pytest.approx(answer["tokens"] / answer["steps"])
    assert set(answer["seconds"]) >= {"load", "prefill", "draft", "decode", "total"}
    assert (
        sum(v for k, v in answer["seconds"].items() if k != "total") <= (answer["seconds"]["total"])
    )
    assert answer["stopped_by"] in ("length", "end")
    assert answer["model"]["path"] == str(chat_model)
    assert len(answer["model"]["fingerprint"]) == 16
    for count in answer["by_source"].values():
        assert count["drafted"] >= count["tested"] >= count["accepted"]
    assert {"text", "tested", "accepted", "acceptance_rate", "tokens_per_second"} <= set(answer)


def test_without_drafts_the_rate_is_null_and_the_text_the_same(chat_model: Path) -> None:
    words = ("the cat and the dog and the cat and the dog", "--max-tokens", "40")
    drafted = as_json(chat_model, *words)
    plain = as_json(chat_model, *words, "--no-draft")
    assert plain["acceptance_rate"] is None
    assert (plain["tested"], plain["tokens_per_step"]) == (0, 1.0)
    assert drafted["text"] == plain["text"]


def test_the_prompt_may_come_from_stdin_whole_or_after_the_argument(chat_model: Path) -> None:
    lines = "first line\n\nsecond line\nthird"
    limit = ("--max-tokens", "3")
    both = as_json(chat_model, "argument", *limit, stdin=lines + "\n")
    by_argument = as_json(chat_model, f"argument\n\n{lines}", *limit)
    alone = as_json(chat_model, *limit, stdin=lines)
    assert both["prompt_tokens"] == by_argument["prompt_tokens"]
    assert both["text"] == by_argument["text"]
    assert alone["prompt_tokens"] < both["prompt_tokens"]


def test_stdout_is_the_answer_and_nothing_else(chat_model: Path) -> None:
    words = ("hello", "--max-tokens", "10")
    text = as_json(chat_model, *words)["text"]
    result = ask(chat_model, *words, by=run_fresh)
    assert result.stdout.rstrip("\n") == text.rstrip("\n")
    assert "tokens/s" in result.stderr
    assert ask(chat_model, "--quiet", *words).stderr == ""


@pytest.mark.parametrize("stdin", ["", " \n\t\n"])
def test_an_empty_prompt_is_wrong_usage(chat_model: Path, stdin: str) -> None:
    result = ask(chat_model, stdin=stdin)
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1] == (
        "sssd-chat ask: error: the prompt is empty: give it as an argument or on standard input"
    )


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--temperature", "hot"), "'hot' is not a number"),
        (("--temperature", "-1"), "out of range"),
        (("--top-p", "1.5"), "out of range"),
        (("--max-tokens", "0"), "out of range"),
        (("--max-tokens", "2.5"), "not a whole number"),
        (("--ctx", "3"), "out of range"),
        (("--nonsense",), "unrecognized"),
        (("--temperature", "nan"), "out of range"),
    ],
)
def test_wrong_values_are_wrong_usage(words: tuple[str, ...], complaint: str) -> None:
    result = run("ask", "hello", *words)
    assert result.returncode == 2
    assert complaint in result.stderr
    assert "Traceback" not in result.stderr


def test_a_missing_model_is_one_sentence(tmp_path: Path) -> None:
    result = ask(tmp_path / "none.gguf", "hello")
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.startswith("sssd-chat: ")
    assert result.stderr.count("\n") == 1


def test_a_prompt_longer_than_the_context_is_told(chat_model: Path) -> None:
    result = ask(chat_model, "--ctx", "64", "word " * 200)
    assert result.returncode == 1
    assert "too long for the context of 64" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_full_context_ends_the_answer(models: Path) -> None:
    model = tiny_model(models, chat_template=CHATML_TEMPLATE)
    answer = as_json(model, "hello", "--ctx", "96")
    assert answer["stopped_by"] == "context"
    assert answer["prompt_tokens"] + answer["tokens"] == 97


def test_one_token_is_one_step(chat_model: Path) -> None:
    answer = as_json(chat_model, "hello", "--max-tokens", "1")
    assert (answer["tokens"], answer["steps"], answer["stopped_by"]) == (1, 1, "length")


def test_a_stop_string_is_not_part_of_the_answer(models: Path) -> None:
    model = tiny_model(models, chat_template=CHATML_TEMPLATE)
    free = as_json(model, "hello", "--max-tokens", "40")["text"]
    stop = free[8:11]
    answer = as_json(model, "hello", "--max-tokens", "40", "--stop", stop, "--stop", "never")
    assert answer["text"] == free[: free.index(stop)]
    assert answer["stopped_by"] == "stop"


def test_a_model_without_a_template_is_told_and_answers(models: Path) -> None:
    result = ask(tiny_model(models), "hello", "--max-tokens", "5")
    assert result.returncode == 0
    assert "no chat template" in result.stderr


def test_a_recurrent_model_says_why_it_is_not_drafted_for(models: Path) -> None:
    model = tiny_model(models, Architecture.MAMBA, chat_template=CHATML_TEMPLATE)
    answer = as_json(model, "the cat the cat the cat the cat", "--max-tokens", "20")
    assert answer["drafted"] == 0
    assert "cannot take a token back" in answer["drafting"]


def test_bytes_that_are_no_text_are_read_as_well_as_can_be(chat_model: Path) -> None:
    assert as_json(chat_model, "--max-tokens", "2", stdin=b"a\xff\xfeb\x00c")["tokens"] == 2


def test_interrupting_keeps_what_was_written(models: Path, home: Path) -> None:
    model = tiny_model(models, chat_template=CHATML_TEMPLATE)
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "sssd_chat",
            "ask",
            "hello",
            "--model",
            str(model),
            "--threads",
            "1",
            "--json",
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_until_decoding(process)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=20)
    answer = json.loads(out)
    if answer["stopped_by"] != "context":
        assert process.returncode == 130
        assert answer["stopped_by"] == "cancelled"
    assert b"Traceback" not in error


def wait_until_decoding(process: subprocess.Popen[bytes]) -> None:
    """Until the process has llama.cpp loaded and a moment has passed."""
    maps = Path(f"/proc/{process.pid}/maps")
    until = time.monotonic() + 20
    while "libllama" not in maps.read_text() and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.3)


def test_interrupting_while_the_prompt_is_read(models: Path) -> None:
    """A long prompt on a slow (many-layered) path: Ctrl+C ends it between chunks."""
    model = tiny_model(models, chat_template=CHATML_TEMPLATE, context_length=200_000)
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "sssd_chat",
            "ask",
            "--model",
            str(model),
            "--ctx",
            "150000",
            "--threads",
            "1",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"x1 " * 45_000)
    process.stdin.close()
    process.stdin = None
    wait_until_decoding(process)
    time.sleep(0.7)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"Traceback" not in error


def test_a_reader_that_goes_away_is_no_error_to_shout_about(models: Path) -> None:
    model = tiny_model(models, chat_template=CHATML_TEMPLATE)
    command = (
        f"{sys.executable} -m sssd_chat ask hello --quiet --threads 1 --max-tokens 20 "
        f"--model {model} | true"
    )
    done = subprocess.run(command, shell=True, capture_output=True, stdin=subprocess.DEVNULL)
    assert b"Traceback" not in done.stderr
    assert done.stderr == b""


def test_a_terminal_sees_the_answer_as_it_comes(chat_model: Path) -> None:
    """In a pseudo-terminal; control characters of the model do not reach it."""
    import pty

    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(
            sys.executable,
            [
                sys.executable,
                "-m",
                "sssd_chat",
                "ask",
                "hello",
                "--temperature",
                "0",
                "--threads",
                "1",
                "--max-tokens",
                "30",
                "--quiet",
                "--model",
                str(chat_model),
            ],
        )
    data = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            break
        if not part:
            break
        data += part
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    text = as_json(chat_model, "hello", "--max-tokens", "30")["text"]
    shown = data.decode("utf-8", "replace").replace("\r\n", "\n").strip("\n")
    assert not any(ord(c) < 32 and c not in "\n\t" for c in shown)
    printable = "".join(c for c in text if c.isprintable())
    assert [c for c in shown if c.isprintable()] == list(printable)


def test_documents_are_attached(chat_model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the text of a document")
    (tmp_path / "b.md").write_text("# and of another")
    words = [
        *("why", "--max-tokens", "2", "--ctx", "512"),
        *("--attach", str(tmp_path / "a.txt"), "--attach", str(tmp_path / "b.md")),
    ]
    result = ask(chat_model, "--json", *words)
    assert result.returncode == 0
    counts = re.findall(r"takes (\d+) of 512 tokens", result.stderr)
    assert "a.txt takes" in result.stderr and "b.md takes" in result.stderr
    assert json.loads(result.stdout)["prompt_tokens"] > sum(map(int, counts)) > 10
    (tmp_path / "b.md").write_text("long " * 1000)
    result = ask(chat_model, *words)
    assert (result.returncode, result.stdout) == (1, "")
    assert "do not fit into the context of 512" in result.stderr
