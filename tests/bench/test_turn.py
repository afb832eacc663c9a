"""The bench of a turn asks the same of both chats, and counts right."""

from __future__ import annotations

import json

import pytest

from sssd_chat.bench.turn import EMPTY, LONG, LONG_READ, MODES, TurnTimes, long_chat, message
from tests.cli.running import run
from tests.tiny_models import CHATML_TEMPLATE, tiny_model


def words(text: str) -> int:
    return len(text.split())


def test_messages_are_long_enough_and_differ() -> None:
    texts = [message(number, 50, words) for number in range(5)]
    assert len(set(texts)) == 5
    assert all(50 <= words(text) < 75 for text in texts)


def test_the_long_chat_has_its_tokens_in_turn() -> None:
    turns = long_chat(3000, words)
    assert [role for role, _ in turns] == ["user", "assistant"] * (len(turns) // 2)
    assert 3000 <= sum(words(text) for _, text in turns) < 3600


def test_ratios_are_taken_message_by_message() -> None:
    times = TurnTimes()
    times.seconds[EMPTY] = [1.0, 10.0, 2.0]
    times.seconds[LONG] = [1.2, 11.0, 2.2]
    assert times.ratio(LONG) == pytest.approx(1.1)
    assert times.median(LONG) == pytest.approx(2.2)


def test_bench_turn(models: object) -> None:
    path = tiny_model(models, chat_template=CHATML_TEMPLATE)  # type: ignore[arg-type]
    size = ("--chat-tokens", "600", "--message-tokens", "100", "--repeats", "2")
    common = ("--model", str(path), "--threads", "1", "--ctx", "4096")
    result = run("bench", "turn", *common, *size, "--json")
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    assert answer["chat_tokens"] > 600
    assert set(answer["modes"]) == set(MODES)
    for mode in answer["modes"].values():
        assert len(mode["seconds"]) == len(mode["reused_tokens"]) == 2
    reused = {mode: answer["modes"][mode]["reused_tokens"] for mode in MODES}
    assert reused[EMPTY] == [0, 0]
    assert all(tokens >= answer["chat_tokens"] - 30 for tokens in reused[LONG])
    # All but the end of the message was read when it was sent.
    assert all(tokens > answer["chat_tokens"] + 60 for tokens in reused[LONG_READ])


def test_a_chat_that_cannot_fit_is_told(models: object) -> None:
    path = tiny_model(models, chat_template=CHATML_TEMPLATE)  # type: ignore[arg-type]
    result = run("bench", "turn", "--model", str(path), "--ctx", "1024")
    assert result.returncode == 1
    assert "use fewer --repeats or a larger --ctx" in result.stderr
