from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import run
from tests.tiny_models import CHATML_TEMPLATE, DRAFTED_ARCHITECTURES, Architecture, tiny_model


def verify(model: Path, *words: str) -> tuple[int, list[str], str]:
    result = run("verify", *words, "--model", str(model), "--threads", "1", "--ctx", "512")
    return result.returncode, result.stdout.splitlines(), result.stderr


@pytest.mark.parametrize("architecture", DRAFTED_ARCHITECTURES)
def test_both_ways_of_choosing_are_compared(models: Path, architecture: Architecture) -> None:
    model = tiny_model(models, architecture, chat_template=CHATML_TEMPLATE)
    code, lines, error = verify(model, "the cat and the dog and the cat", "--max-tokens", "60")
    assert code == 0, error
    assert len(lines) == 2
    assert lines[0].startswith("temperature 0: ")
    assert lines[1].startswith("temperature 0.7, seed 1: ")
    for line in lines:
        assert "identical, 60 tokens in" in line or "near-tie" in line


def test_temperature_and_seed_can_be_chosen(chat_model: Path) -> None:
    _, lines, _ = verify(chat_model, "hi", "--temperature", "1.1", "--seed", "9")
    assert lines[1].startswith("temperature 1.1, seed 9: ")


def test_a_model_that_is_never_drafted_for_has_nothing_to_compare(models: Path) -> None:
    model = tiny_model(models, Architecture.MAMBA, chat_template=CHATML_TEMPLATE)
    code, lines, _ = verify(model, "hi")
    assert code == 0
    assert "never drafted" in lines[0]


def test_without_drafts_there_is_nothing_to_compare(chat_model: Path) -> None:
    code, _, error = verify(chat_model, "hi", "--no-draft")
    assert code == 2
    assert "nothing to compare" in error
