"""`sssd-chat ask` with models that think, and chats that go on from their kept state."""

from __future__ import annotations

import io
import random
import sys
from pathlib import Path

import pytest

from sssd_chat.cli.printing import AnswerPrinter
from sssd_chat.conversation.thinking import Parts
from tests.cli.test_ask import as_json, ask
from tests.tiny_models import CHATML_TEMPLATE, tiny_model

THINKING_TEMPLATE = CHATML_TEMPLATE.replace(
    "assistant\n{% endif %}", "assistant\n<think>\n{% endif %}"
)

ANSWERS = {
    "both": Parts("let me see", "Yes."),
    "thinking alone": Parts("let me see", ""),
    "no thinking": Parts("", "Yes."),
    "nothing": Parts("", ""),
}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
@pytest.mark.parametrize("shown", [False, True])
def test_a_terminal_shows_in_the_end_what_a_pipe_gets(
    monkeypatch: pytest.MonkeyPatch, answer: Parts, shown: bool
) -> None:
    written = []
    for stdout in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stdout", stdout)
        printer = AnswerPrinter(shown)
        for field in ("thinking", "text"):
            for character in getattr(answer, field):
                printer.add(Parts(**{field: character}))
        printer.finish(answer)
        written.append(stdout.getvalue())
    assert written[0] == written[1]
    expected = answer.text
    if shown and answer.thinking:
        end = "\n\n" if answer.text else ""
        expected = f"<think>\n{answer.thinking}\n</think>{end}{answer.text}"
    assert written[1] == expected + "\n" * bool(expected)


def test_thinking_is_printed_only_when_asked_for(models: Path) -> None:
    model = tiny_model(models, chat_template=THINKING_TEMPLATE)
    words = ("hello", "--max-tokens", "20")
    answer = as_json(model, *words)
    assert answer["thinking"] and answer["text"] == ""
    assert ask(model, *words).stdout == ""
    assert ask(model, *words, "--show-thinking").stdout == (
        f"<think>\n{answer['thinking']}\n</think>\n"
    )


def test_a_chat_goes_on_without_being_read_again(models: Path) -> None:
    model = tiny_model(models, chat_template=CHATML_TEMPLATE)
    rng = random.Random(1)
    question = " ".join(rng.choice(["the", "cat", "and", "dog"]) for _ in range(300))
    long = ("--ctx", "2048", "--max-tokens", "10", "--no-draft")
    # The first question makes the chat that the others go on with.
    first = as_json(model, question, "--continue", *long)
    second = as_json(model, "and then?", "--continue", *long)
    assert second["chat"] == first["chat"]
    assert second["reused_tokens"] >= first["prompt_tokens"]
    again = as_json(model, "and then?", "--chat", str(first["chat"]), *long)
    assert again["reused_tokens"] >= second["prompt_tokens"]
