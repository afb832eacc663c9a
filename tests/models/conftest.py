"""A home folder with nothing in it, and ways to fill it as other programs do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sssd_chat.models import starter
from tests.tiny_models import Architecture, tiny_model


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of a user who keeps no models: none of the tester's own is found."""
    folder = tmp_path / "machine"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    for variable in (
        *("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "OLLAMA_MODELS", "LLAMA_CACHE"),
        *("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"),
    ):
        monkeypatch.delenv(variable, raising=False)
    return folder


@pytest.fixture
def no_starter(monkeypatch: pytest.MonkeyPatch) -> None:
    """No starter model is installed."""
    monkeypatch.setattr(starter, "PACKAGE", "not_installed_anywhere")


PutModel = Callable[..., Path]


@pytest.fixture
def put(models: Path) -> PutModel:
    """Puts a tiny model at a path; `put(path, architecture, seed)`."""

    def put_at(path: Path, kind: Architecture = Architecture.LLAMA, seed: int = 0) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(tiny_model(models, kind, seed=seed).read_bytes())
        return path

    return put_at


def put_in_hub(hub: Path, repository: str, revision: str, name: str, contents: bytes) -> Path:
    """Puts a file into a Hugging Face cache; returns the link in the snapshot."""
    folder = hub / f"models--{repository.replace('/', '--')}"
    blob = folder / "blobs" / f"{abs(hash(contents)):x}"
    link = folder / "snapshots" / revision / name
    for parent in (blob.parent, link.parent, folder / "refs"):
        parent.mkdir(parents=True, exist_ok=True)
    blob.write_bytes(contents)
    link.symlink_to(blob)
    (folder / "refs" / "main").write_text(revision)
    return link


def put_in_ollama(folder: Path, name: str, contents: bytes) -> Path:
    """Puts a model into an Ollama folder by the name REGISTRY/OWNER/NAME/TAG; its blob."""
    digest = f"{abs(hash(contents)):064x}"
    blob = folder / "blobs" / f"sha256-{digest}"
    manifest = folder / "manifests" / name
    for parent in (blob.parent, manifest.parent):
        parent.mkdir(parents=True, exist_ok=True)
    blob.write_bytes(contents)
    layers = [
        {"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:77"},
        {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"},
    ]
    manifest.write_text(json.dumps({"schemaVersion": 2, "layers": layers}))
    return blob
