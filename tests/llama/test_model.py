"""What cannot be loaded is told in one sentence."""

from __future__ import annotations

import re
from pathlib import Path

import gguf
import psutil
import pytest

from sssd_chat.errors import UserError
from sssd_chat.llama.model import LoadCancelled, Model, open_vocabulary
from tests.tiny_models import CHATML_TEMPLATE, Architecture, tiny_model


def told(path: Path) -> str:
    with pytest.raises(UserError) as error:
        Model(path)
    message = str(error.value)
    assert path.name in message
    assert "\n" not in message
    assert message.endswith((".", "?"))
    return message


def test_a_missing_file(tmp_path: Path) -> None:
    assert "no file" in told(tmp_path / "nothing.gguf")


def test_a_file_that_is_no_gguf(tmp_path: Path) -> None:
    path = tmp_path / "text.gguf"
    path.write_text("just some text, long enough to be read")
    assert "not a GGUF" in told(path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.999])
def test_a_truncated_file(models: Path, tmp_path: Path, share: float) -> None:
    whole = tiny_model(models).read_bytes()
    path = tmp_path / "part.gguf"
    path.write_bytes(whole[: int(len(whole) * share)])
    assert re.search("incomplete|damaged|ends", told(path))


def test_an_unknown_architecture(tmp_path: Path) -> None:
    path = tmp_path / "strange.gguf"
    writer = gguf.GGUFWriter(path, "spacewarp")
    writer.add_context_length(128)
    writer.add_token_list(["a", "b"])
    writer.add_tensor("token_embd.weight", __import__("numpy").zeros((4, 4), "float32"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert "architecture 'spacewarp'" in told(path)


def test_too_little_memory(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class _None:
        available = 1000
        free = 0

    monkeypatch.setattr(psutil, "virtual_memory", lambda: _None)
    monkeypatch.setattr(psutil, "swap_memory", lambda: _None)
    assert "Not enough memory" in told(tiny_model(models))


def test_loading_can_be_stopped(models: Path) -> None:
    with pytest.raises(LoadCancelled):
        Model(tiny_model(models), progress=lambda _: False)


def test_a_model_describes_itself(models: Path) -> None:
    path = tiny_model(models, chat_template=CHATML_TEMPLATE)
    seen: list[float] = []
    model = Model(path, progress=lambda done: not seen.append(done))  # type: ignore[func-returns-value]
    assert seen[-1] == 1.0
    assert model.chat_template == CHATML_TEMPLATE
    assert model.trained_context == 4096
    assert model.can_roll_back
    assert model.window == 0
    assert model.description == f"llama {model.parameters:,} all F32"
    assert model.metadata("no.such.key") == ""
    model.close()
    model.close()


@pytest.mark.parametrize("architecture", [*Architecture])
def test_which_models_can_take_a_token_back(models: Path, architecture: Architecture) -> None:
    model = Model(tiny_model(models, architecture))
    assert model.can_roll_back is architecture.can_roll_back
    assert (model.window > 0) is (architecture is Architecture.GEMMA3)
    model.close()


def test_a_vocabulary_is_read_without_the_weights(models: Path) -> None:
    path = tiny_model(models)
    whole = Model(path)
    try:
        expected = whole.vocabulary.fingerprint
    finally:
        whole.close()
    with open_vocabulary(path) as vocabulary:
        assert vocabulary.fingerprint == expected
        assert vocabulary.detokenize(vocabulary.tokenize("the text")) == b"the text"


def test_a_vocabulary_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "text.gguf"
    path.write_text("just some text, long enough to be read")
    with pytest.raises(UserError, match="not a GGUF"), open_vocabulary(path):
        pass
