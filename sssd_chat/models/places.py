"""Where people keep models: the folders of this program and of others, found as those find them."""

from __future__ import annotations

import configparser
import contextlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from sssd_chat import paths
from sssd_chat.models.starter import starter_model


class Layout(Enum):
    """How a place is arranged."""

    FOLDERS = "folders"
    """GGUF files in folders of any depth; OWNER/REPOSITORY/FILE names the repository."""
    HUGGING_FACE = "Hugging Face"
    """models--OWNER--REPOSITORY/snapshots/REVISION/FILE, links into blobs."""
    OLLAMA = "Ollama"
    """Manifests that name blobs."""
    FILE = "file"
    """The place is one file."""


@dataclass(frozen=True, slots=True)
class Place:
    """One place to look at."""

    name: str
    """As it is shown."""
    path: Path
    layout: Layout = Layout.FOLDERS


OWN = "sssd-chat"
"""Name of the place where `pull` puts models, and the only one that `remove` removes from."""


def all_places(folders: Sequence[Path]) -> list[Place]:
    """Every place that there is, the nearest first: our own folder, `folders` (those of the
    settings), the caches of Hugging Face and of other programs, the starter model."""
    wanted = [
        Place(OWN, paths.models_folder()),
        *(Place("settings", folder) for folder in folders),
        *(Place("Hugging Face", folder, Layout.HUGGING_FACE) for folder in _hugging_face()),
        *(Place("llama.cpp", folder) for folder in _llama_cpp()),
        *(Place("LM Studio", folder) for folder in _lm_studio()),
        *(Place("GPT4All", folder) for folder in _gpt4all()),
        *(Place("Jan", folder) for folder in _jan()),
        *(Place("Ollama", folder, Layout.OLLAMA) for folder in _ollama()),
    ]
    found: dict[Path, Place] = {}
    for place in wanted:
        with contextlib.suppress(OSError):
            if place.path.is_dir():
                found.setdefault(place.path.resolve(), place)
    starter = starter_model()
    if starter is not None:
        found[starter] = Place("starter", starter, Layout.FILE)
    return list(found.values())


def _hugging_face() -> Iterator[Path]:
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        yield from _of_environment(variable)
    for home in _of_environment("HF_HOME"):
        yield home / "hub"
    yield _cache() / "huggingface" / "hub"


def _llama_cpp() -> Iterator[Path]:
    yield from _of_environment("LLAMA_CACHE")
    yield _user_folders().caches / "llama.cpp"


def _lm_studio() -> Iterator[Path]:
    home = _home()
    homes = [home / ".lmstudio", home / ".cache" / "lm-studio"]
    with contextlib.suppress(OSError, UnicodeDecodeError):
        pointed = (home / ".lmstudio-home-pointer").read_text("utf-8").strip()
        homes[:0] = [Path(pointed)] if pointed else []
    for folder in homes:
        chosen = _json(folder / "settings.json").get("downloadsFolder")
        if isinstance(chosen, str) and chosen:
            yield Path(chosen)
        yield folder / "models"


def _gpt4all() -> Iterator[Path]:
    folders = _user_folders()
    settings = configparser.ConfigParser(interpolation=None, strict=False)
    with contextlib.suppress(OSError, configparser.Error, UnicodeDecodeError):
        settings.read_string((folders.settings / "nomic.ai" / "GPT4All.ini").read_text("utf-8"))
        yield Path(settings.get("General", "modelPath"))
    yield folders.data / "nomic.ai" / "GPT4All"
    yield _home() / ".cache" / "gpt4all"


def _jan() -> Iterator[Path]:
    folders = _user_folders()
    for kept in (folders.roaming / "Jan", folders.roaming / "jan", folders.data / "Jan"):
        chosen = _json(kept / "settings.json").get("data_folder")
        if isinstance(chosen, str) and chosen:
            yield from _jan_models(Path(chosen))
        yield from _jan_models(kept / "data")
    yield from _jan_models(_home() / "jan")


def _jan_models(data: Path) -> Iterator[Path]:
    yield data / "llamacpp" / "models"
    yield data / "models"


def _ollama() -> Iterator[Path]:
    yield from _of_environment("OLLAMA_MODELS")
    yield _home() / ".ollama" / "models"
    # Where the Linux service keeps them.
    yield Path("/usr/share/ollama/.ollama/models")


@dataclass(frozen=True, slots=True)
class _UserFolders:
    """Where programs of this platform keep things."""

    data: Path
    settings: Path
    caches: Path
    roaming: Path
    """What follows a user to other machines; elsewhere than on Windows the settings."""


def _user_folders() -> _UserFolders:
    home = _home()
    if sys.platform == "darwin":
        support = home / "Library" / "Application Support"
        return _UserFolders(support, home / ".config", home / "Library" / "Caches", support)
    if sys.platform == "win32":
        local = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
        roaming = Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming")
        return _UserFolders(local, roaming, local, roaming)
    data = next(_of_environment("XDG_DATA_HOME"), home / ".local" / "share")
    settings = next(_of_environment("XDG_CONFIG_HOME"), home / ".config")
    return _UserFolders(data, settings, _cache(), settings)


def _cache() -> Path:
    return next(_of_environment("XDG_CACHE_HOME"), _home() / ".cache")


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        # A user without a home folder has nothing in it.
        return Path(os.devnull)


def _of_environment(variable: str) -> Iterator[Path]:
    value = os.environ.get(variable)
    if value:
        with contextlib.suppress(RuntimeError):
            yield Path(os.path.expandvars(value)).expanduser()


def _json(file: Path) -> dict[str, object]:
    try:
        content = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
