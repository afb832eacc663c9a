"""The models that the chat offers, and what is refused before it is loaded."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from sssd_chat.cli.chat import parser
from sssd_chat.cli.model_choices import ModelChoices
from sssd_chat.config import Config
from sssd_chat.errors import UserError
from sssd_chat.llama import devices
from tests.tiny_models import CHATML_TEMPLATE, tiny_model


@pytest.fixture
def choices(models: Path, tmp_path: Path) -> ModelChoices:
    """One model that can be used, and one that cannot."""
    folder = tmp_path / "gguf"
    folder.mkdir()
    (folder / "tiny.gguf").write_bytes(
        tiny_model(models, chat_template=CHATML_TEMPLATE).read_bytes()
    )
    (folder / "broken.gguf").write_bytes(b"GGUF\x03")
    config = replace(Config(), model=replace(Config().model, folders=(str(folder),)))
    return ModelChoices(parser().parse_args(["--model", str(folder / "tiny.gguf")]), config)


def test_models_are_listed_with_what_is_wrong(choices: ModelChoices, tmp_path: Path) -> None:
    found = {Path(model.path).name: model for model in choices.models()}
    tiny, broken = found["tiny.gguf"], found["broken.gguf"]
    assert tiny.in_use and not tiny.problem and tiny.context > 0
    assert "llama" in tiny.description and tiny.bytes == Path(tiny.path).stat().st_size
    assert not broken.in_use and "broken" in broken.problem


def test_what_cannot_be_used_is_refused(choices: ModelChoices, tmp_path: Path) -> None:
    choices.check(str(tmp_path / "gguf" / "tiny.gguf"))
    with pytest.raises(UserError, match="incomplete"):
        choices.check(str(tmp_path / "gguf" / "broken.gguf"))
    with pytest.raises(UserError, match="cannot be looked at"):
        choices.check(str(tmp_path / "missing.gguf"))


def test_what_does_not_fit_into_memory_is_refused(
    choices: ModelChoices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = namedtuple("memory", "available")(1000)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(devices, "has_gpu", lambda: False)
    with pytest.raises(UserError, match="choose a smaller model"):
        choices.check(str(tmp_path / "gguf" / "tiny.gguf"))
