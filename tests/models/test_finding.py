"""Models are found where people keep them, each once, by a name, without reading weights."""

import json
import os
import time
from pathlib import Path

import gguf
import numpy as np
import pytest

from sssd_chat import paths
from sssd_chat.models import header_cache
from sssd_chat.models.finding import FoundModel, completed, find_at, find_models
from tests.models.conftest import PutModel, put_in_hub, put_in_ollama
from tests.tiny_models import tiny_model

pytestmark = pytest.mark.usefixtures("no_starter")

LAYER = "application/vnd.ollama.image.model"


def found(*folders: Path) -> dict[str, FoundModel]:
    """By name; every name but once."""
    models = find_models(folders)
    by_name = {model.name: model for model in models}
    assert len(by_name) == len(models), [model.path for model in models]
    return by_name


def small_model(seed: int) -> bytes:
    """A whole file of a few hundred bytes, another one for each seed."""
    path = Path(os.environ["HOME"]) / f"made-{os.getpid()}.tmp"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(f"Small {seed}")
    writer.add_token_list(["a", "b"])
    writer.add_tensor("w", np.full(8, seed, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.read_bytes()


def test_nothing_is_found_where_nothing_is() -> None:
    assert find_models() == []


def test_every_place_is_looked_at(
    machine: Path, tmp_path: Path, put: PutModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, cache = machine / ".local/share", machine / ".cache"
    put(paths.models_folder() / "own/repo/Own-Q4_0.gguf", seed=1)
    put(tmp_path / "mine" / "deep" / "Mine.gguf", seed=2)
    put_in_hub(cache / "huggingface/hub", "org/Hub-GGUF", "r1", "hub.gguf", small_model(3))
    put(machine / ".lmstudio/models/someone/Some-GGUF/Some.Q8_0.gguf", seed=4)
    put(data / "nomic.ai/GPT4All/Four.gguf", seed=5)
    put(data / "Jan/data/llamacpp/models/jan-nano/model.gguf", seed=6)
    put_in_ollama(
        machine / ".ollama/models", "registry.ollama.ai/library/qwen/1.5b", small_model(7)
    )
    put(cache / "llama.cpp/org_Cpp_file.gguf", seed=8)
    models = found(tmp_path / "mine")
    assert {name: model.place for name, model in models.items()} == {
        "Own-Q4_0": "sssd-chat",
        "Mine": "settings",
        "hub": "Hugging Face",
        "org_Cpp_file": "llama.cpp",
        "Some.Q8_0": "LM Studio",
        "Four": "GPT4All",
        "jan-nano": "Jan",
        "qwen:1.5b": "Ollama",
    }
    assert all(model.problem is None for model in models.values())
    assert models["Own-Q4_0"].repository == "own/repo"
    assert models["Some.Q8_0"].repository == "someone/Some-GGUF"
    assert models["hub"].repository == "org/Hub-GGUF"
    assert models["qwen:1.5b"].description.title == "Small 7"
    elsewhere = tmp_path / "elsewhere"
    put_in_hub(elsewhere / "home/hub", "a/b", "r", "home.gguf", small_model(9))
    put_in_hub(elsewhere / "cache", "a/c", "r", "cache.gguf", small_model(10))
    put_in_ollama(elsewhere / "ollama", "example.org/me/own/tag", small_model(11))
    monkeypatch.setenv("HF_HOME", str(elsewhere / "home"))
    monkeypatch.setenv("HF_HUB_CACHE", str(elsewhere / "cache"))
    monkeypatch.setenv("OLLAMA_MODELS", str(elsewhere / "ollama"))
    assert {"home", "cache", "example.org/me/own:tag"} <= set(found())


def test_folders_that_other_programs_were_told_to_use(
    machine: Path, tmp_path: Path, put: PutModel
) -> None:
    put(tmp_path / "lm" / "a" / "b" / "Studio.gguf", seed=1)
    put(tmp_path / "jan" / "llamacpp" / "models" / "x" / "model.gguf", seed=2)
    put(tmp_path / "gpt" / "All.gguf", seed=3)
    home = machine / "moved"
    files = {
        machine / ".lmstudio-home-pointer": f"{home}\n",
        home / "settings.json": json.dumps({"downloadsFolder": str(tmp_path / "lm")}),
        machine / ".config/Jan/settings.json": json.dumps({"data_folder": str(tmp_path / "jan")}),
        machine / ".config/nomic.ai/GPT4All.ini": f"[General]\nmodelPath={tmp_path / 'gpt'}\n",
    }
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert set(found()) == {"Studio", "x", "All"}
    for file in files:
        file.write_bytes(b"\xff{[")
    assert found() == {}


def test_a_file_is_listed_once_whatever_leads_to_it(machine: Path, put: PutModel) -> None:
    model = put(paths.models_folder() / "a/b/One.gguf", seed=1)
    folder = machine / "links"
    folder.mkdir()
    (folder / "Other.gguf").symlink_to(model)
    (folder / "round").symlink_to(folder)
    (folder / "again").symlink_to(model.parent)
    assert set(found(folder, paths.models_folder())) == {"One"}


def test_of_a_file_in_several_revisions_the_current_one_is_listed(machine: Path) -> None:
    hub = machine / ".cache/huggingface/hub"
    put_in_hub(hub, "org/Two", "old", "two.gguf", small_model(1))
    put_in_hub(hub, "org/Two", "old", "only-old.gguf", small_model(2))
    put_in_hub(hub, "org/Two", "new", "two.gguf", small_model(3))
    models = found()
    assert models["two"].description.title == "Small 3"
    assert set(models) == {"two", "only-old"}


def split_model(folder: Path) -> list[Path]:
    folder.mkdir(parents=True)
    writer = gguf.GGUFWriter(folder / "big.gguf", "llama", split_max_tensors=2)
    writer.add_token_list(["a", "b"])
    for name in "abcde":
        writer.add_tensor(name, np.zeros(64, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return sorted(folder.glob("big-*.gguf"))


def test_a_split_model_counts_as_one(tmp_path: Path) -> None:
    parts = split_model(tmp_path / "m")
    model = found(tmp_path / "m")["big"]
    assert model.path == parts[0] and model.files == tuple(parts)
    assert model.bytes == sum(part.stat().st_size for part in parts)
    assert model.description.parts == 3 and model.description.parameters == 5 * 64
    os.truncate(parts[2], parts[2].stat().st_size - 1)
    assert "incomplete" in found(tmp_path / "m")["big"].problem
    parts[0].unlink()
    assert found(tmp_path / "m")["big"].problem == (
        "big cannot be used: part 1 of 3 cannot be found."
    )
    assert find_at(parts[1]).problem == "big cannot be used: part 1 of 3 cannot be found."


def test_broken_and_half_downloaded_files_are_listed_with_the_reason(
    machine: Path, tmp_path: Path, put: PutModel
) -> None:
    folder = tmp_path / "broken"
    whole = put(folder / "Whole.gguf")
    half = folder / "Half.gguf"
    half.write_bytes(whole.read_bytes()[:50000])
    (folder / "Page.gguf").write_text("<!DOCTYPE html>")
    (folder / "Empty.gguf").touch()
    (folder / "Loading.gguf.part").write_bytes(whole.read_bytes()[:900])
    (folder / "Gone.gguf").symlink_to(folder / "nothing")
    hub = machine / ".cache/huggingface/hub"
    link = put_in_hub(hub, "org/Hub", "r", "hub.gguf", small_model(1))
    (link.resolve().parent / "f00.incomplete").write_bytes(whole.read_bytes()[:900])
    (link.resolve().parent / "f01.incomplete").write_bytes(b"{}")
    blobs = put_in_ollama(machine / ".ollama/models", "r/o/n/t", small_model(2)).parent
    (blobs / "sha256-0123456789abcdef0-partial").touch()
    models = found(folder)
    problems = {name: model.problem for name, model in models.items() if model.problem}
    assert set(problems) == {
        *("Half", "Page", "Empty", "Loading.gguf.part", "Gone", "Hub", "sha256-0123456789ab…"),
    }
    assert problems["Half"].startswith("Half ends after 50 kB of ")
    assert "is not a GGUF file" in problems["Page"]
    assert problems["Empty"].startswith("Empty is empty")
    for name in ("Loading.gguf.part", "Hub"):
        assert problems[name] == f"{name} cannot be used: the download is not finished."
    for problem in problems.values():
        assert str(tmp_path) not in problem and problem.endswith(".")
    link.resolve().unlink()
    assert "a file that is gone" in found()["hub"].problem


@pytest.mark.parametrize(
    "manifest",
    [
        *("", "[]", "{}", "null", '{"layers": 3}', '{"layers": [3]}', '{"layers": [{}]}'),
        "[" * 100_000,
        f'{{"layers": [{{"mediaType": "{LAYER}", "digest": "sha256:../x"}}]}}',
        f'{{"layers": [{{"mediaType": "{LAYER}", "digest": 7}}]}}',
    ],
)
def test_manifests_that_say_nothing_are_passed_over(machine: Path, manifest: str) -> None:
    folder = machine / ".ollama/models"
    put_in_ollama(folder, "registry.ollama.ai/library/good/1b", small_model(1))
    bad = folder / "manifests/registry.ollama.ai/library/bad/1b"
    bad.parent.mkdir()
    bad.write_text(manifest)
    (folder / "manifests/registry.ollama.ai/library/stray").write_text("")
    assert set(found()) == {"good:1b"}


def test_what_is_no_chat_model_is_said_to_be_none(tmp_path: Path, put: PutModel) -> None:
    for kind in ("clip", "bert"):
        writer = gguf.GGUFWriter(tmp_path / f"{kind}.gguf", kind)
        writer.add_token_list(["a"])
        writer.add_pooling_type(gguf.PoolingType.MEAN)
        writer.add_tensor("w", np.zeros(8, dtype=np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    models = found(tmp_path)
    assert "sees or hears" in models["clip"].problem
    assert "is an embedding model (bert)" in models["bert"].problem


def test_hundreds_of_files_are_listed_at_once_and_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    contents = small_model(1)
    for number in range(400):
        (folder / f"model-{number:03}.gguf").write_bytes(contents)
    assert len(found(folder)) == 400
    assert paths.model_headers_file().stat().st_mode & 0o077 == 0

    def refuse(_: Path) -> None:
        raise AssertionError("read again")

    read = header_cache.read_header
    monkeypatch.setattr(header_cache, "read_header", refuse)
    seconds = []
    for _ in range(3):
        start = time.process_time()
        assert len(find_models([folder])) == 400
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.2
    # A file that changed is read again, and a cache that is damaged costs nothing but time.
    monkeypatch.setattr(header_cache, "read_header", read)
    (folder / "model-007.gguf").write_bytes(contents[:-1])
    assert "incomplete" in found(folder)["model-007"].problem
    for damage in (b"", b"[]", b"[" * 100_000, b'{"version": 1, "models": {"x": 3}}', b"\xff"):
        paths.model_headers_file().write_bytes(damage)
        assert len(find_models([folder])) == 400


def with_vocabulary(path: Path, name: str, tokens: int = 3000) -> bytes:
    """A file in the order of usual ones: what the model is, its vocabulary, how it is stored."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(name)
    writer.add_block_count(2)
    writer.add_context_length(100)
    writer.add_token_list([f"token {number}" for number in range(tokens)])
    writer.add_chat_template("{{ messages }}")
    writer.add_file_type(15)
    writer.add_tensor("w", np.zeros(8, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.read_bytes()


def test_a_hasty_search_reads_no_vocabularies_and_the_next_one_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    for number in range(9):
        contents = with_vocabulary(folder / f"Model-{number}-Q4_K_M.gguf", f"Model {number}")
    (folder / "Model-9-Q8_0.gguf").write_bytes(contents[:-1])

    def unread(patience: float) -> list[str]:
        models = find_models([folder], patience)
        assert len(models) == 10
        for model in models:
            told = model.description
            if told is not None and not told.is_whole:
                # What matters for a choice is known all the same.
                assert (told.parameters, told.has_template) == (None, None)
                assert told.vocabulary_size == 3000 and told.trained_context == 100
                assert told.quantization == model.name[-len(told.quantization) :]
                assert told.title.startswith("Model ")
        return [m.name[6] for m in models if m.description and not m.description.is_whole]

    assert unread(0.0) == list("456789")
    assert unread(0.0) == list("89")
    assert unread(0.0) == []
    *whole, cut = find_models([folder])
    assert "incomplete" in cut.problem
    for model in whole:
        assert completed(model) is model
        assert model.description.parameters == 8 and model.description.has_template
        assert model.description.quantization == "Q4_K_M"
    # A file that was cut short is not taken for a whole one when it is chosen.
    paths.model_headers_file().unlink()
    hasty = find_models([folder], 0.0)[-1]
    assert hasty.problem is None and "incomplete" in completed(hasty).problem


def test_the_headers_of_files_that_are_gone_are_forgotten(tmp_path: Path, put: PutModel) -> None:
    models = [put(tmp_path / "m" / f"{name}.gguf", seed=n) for n, name in enumerate("ab")]
    find_models([tmp_path / "m"])
    models[0].unlink()
    find_models([tmp_path / "m"])
    kept = json.loads(paths.model_headers_file().read_bytes())["models"]
    assert list(kept) == [str(models[1])]


def test_a_data_folder_that_cannot_be_written_is_no_matter(home: Path, tmp_path: Path) -> None:
    home.write_text("a file where the folder should be")
    tiny_model(tmp_path / "m")
    assert len(find_models([tmp_path / "m"])) == 1
