"""The caches whose files do not bear the names of their models: Hugging Face and Ollama."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from sssd_chat.llama.gguf_format import MAGIC
from sssd_chat.models.scanning import Candidate, scan

_MODEL_LAYER = "application/vnd.ollama.image.model"
_USUAL_REGISTRY = "registry.ollama.ai"
_USUAL_OWNER = "library"
_LARGEST_MANIFEST = 1 << 20


def hugging_face_models(hub: Path) -> list[Candidate]:
    """The models of a Hugging Face cache; of a file in several revisions, the newest."""
    found: list[Candidate] = []
    for folder in _folders(hub, "models--*"):
        repository = folder.name.removeprefix("models--").replace("--", "/", 1)
        seen: set[tuple[str, ...]] = set()
        for snapshot in _newest_first(folder):
            for one in scan(snapshot):
                place = one.path.relative_to(snapshot).parts
                if place not in seen:
                    seen.add(place)
                    found.append(_cached(one, repository))
        found += _unfinished_blobs(folder / "blobs", repository)
    return found


def _cached(one: Candidate, repository: str) -> Candidate:
    problem = one.problem
    # A link without its blob: the cache was cleaned up by hand.
    if not all(_exists(file) for file in one.files):
        problem = problem or "it is a link to a file that is gone"
    return Candidate(one.name, one.files, repository, problem)


def _newest_first(folder: Path) -> list[Path]:
    """The snapshots of a repository, the one that the branch `main` stands at first."""
    current = ""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        current = (folder / "refs" / "main").read_text("utf-8").strip()
    snapshots = list(_folders(folder / "snapshots", "*"))
    return sorted(snapshots, key=lambda one: (one.name == current, _time(one)), reverse=True)


def _unfinished_blobs(blobs: Path, repository: str) -> Iterator[Candidate]:
    with contextlib.suppress(OSError):
        for file in sorted(blobs.glob("*.incomplete")):
            if _begins_like_a_model(file):
                name = repository.rpartition("/")[2]
                yield Candidate(name, (file,), repository, "the download is not finished")


def ollama_models(folder: Path) -> list[Candidate]:
    """The models of an Ollama folder, named as Ollama names them."""
    found = []
    manifests = folder / "manifests"
    for manifest in _manifests(manifests):
        digest = _model_digest(manifest)
        if digest is not None:
            blob = folder / "blobs" / digest.replace(":", "-")
            name = _ollama_name(manifest.relative_to(manifests).parts)
            gone = None if _exists(blob) else f"its file {blob.name[:19]}… is gone"
            found.append(Candidate(name, (blob,), problem=gone))
    with contextlib.suppress(OSError):
        for file in sorted((folder / "blobs").glob("sha256-*-partial")):
            name = f"{file.name[:19]}…"
            found.append(Candidate(name, (file,), problem="the download is not finished"))
    return found


def _manifests(folder: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        # REGISTRY/OWNER/NAME/TAG.
        return sorted(file for file in folder.glob("*/*/*/*") if file.is_file())
    return []


def _model_digest(manifest: Path) -> str | None:
    """The digest of the weights that a manifest names; None for one that names none."""
    try:
        if manifest.stat().st_size > _LARGEST_MANIFEST:
            return None
        for layer in json.loads(manifest.read_bytes())["layers"]:
            digest = layer["digest"]
            # A digest becomes the name of a file.
            if layer["mediaType"] == _MODEL_LAYER and digest.removeprefix("sha256:").isalnum():
                return str(digest)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return None


def _ollama_name(place: tuple[str, ...]) -> str:
    registry, owner, name, tag = place
    full = name if (registry, owner) == (_USUAL_REGISTRY, _USUAL_OWNER) else f"{owner}/{name}"
    if registry != _USUAL_REGISTRY:
        full = f"{registry}/{owner}/{name}"
    return f"{full}:{tag}"


def _begins_like_a_model(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _folders(parent: Path, pattern: str) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from sorted(folder for folder in parent.glob(pattern) if folder.is_dir())


def _exists(file: Path) -> bool:
    try:
        return file.exists()
    except OSError:
        return False


def _time(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
