"""`bench screen`, and the two programs that it runs."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from sssd_chat.bench.screen import ScreenCost
from sssd_chat.cli import bench_screen, timed_chat
from sssd_chat.cli.bench_screen import Speeds
from sssd_chat.cli.main import main
from sssd_chat.cli.scripted_chat import END, ScriptedChat, passages
from sssd_chat.conversation.events import AnswerDone, AnswerStep, ChatOpened, ModelReady

COSTS = {"typing": ScreenCost([0.01, 0.03], 2.0, 1.0), "turn 5": ScreenCost([], 2.0, 0.5)}


def test_a_text_is_played_to_its_end() -> None:
    chat = ScriptedChat(turns=2, tokens=100, rate=100_000)
    chat.start()
    chat.save_prompt("whatever the screen asks for")
    first, second = chat.events()
    assert isinstance(first, ChatOpened) and isinstance(second, ModelReady)
    assert [turn.role for turn in first.turns] == ["user", "assistant"] * 2
    assert all(END not in turn.text for turn in first.turns)
    chat.send("go")
    events = []
    while not events or not isinstance(events[-1], AnswerDone):
        events += chat.events()
        time.sleep(0.001)
    chat.close()
    text = "".join(event.text for event in events if isinstance(event, AnswerStep))
    assert text == events[-1].text == passages(400)
    assert text.endswith(END)


def test_an_answer_without_a_screen_is_timed(
    tmp_path: Path, chat_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = tmp_path / "result"
    words = [str(result), "--model", str(chat_model), "--ctx", "512", "--max-tokens", "24"]
    monkeypatch.setattr(sys, "argv", ["timed_chat", *words, "--temperature", "0"])
    assert timed_chat.main() == 0
    measured = json.loads(result.read_text())
    assert 0 < measured["tokens"] < 24
    assert measured["seconds"] > 0


def test_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    bench_screen.show(COSTS, [Speeds(98.0, 100.0), Speeds(99.0, 100.0), Speeds(97.0, 100.0)])
    out = capsys.readouterr().out
    assert "30 ms" in out and "500 ms" in out and "250 ms" in out
    assert out.endswith("median: 0.980\n")


def test_the_object() -> None:
    found = bench_screen.as_json(COSTS, [Speeds(98.0, 100.0)])
    assert found["echo_p95"] == 0.03
    assert found["processor_load"] == {"typing": 0.5, "turn 5": 0.25}
    assert found["ratio"] == 0.98
    assert bench_screen.as_json(COSTS, [])["ratio"] is None


def test_the_command_finds_its_way(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def stream(turns: int, tokens: int, *, typing: bool) -> ScreenCost:
        asked.append((turns, tokens, typing))
        return ScreenCost([0.01], 1.0, 0.5)

    monkeypatch.setattr(bench_screen, "_stream", stream)
    assert main(["bench", "screen", "--repeats", "0", "--tokens", "120", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tokens_per_second"] == []
    assert asked == [(4, 120, True), (4, 120, False), (499, 120, False)]
