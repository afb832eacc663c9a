"""The health of the datastore and of the folders."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from sssd_chat import paths
from sssd_chat.datastore.reader import inspect
from sssd_chat.datastore.vocabularies import vocabulary_folders


@dataclass(frozen=True, slots=True)
class StoreReport:
    """All indexes together."""

    vocabularies: int
    collections: int
    documents: int
    tokens: int
    bytes: int
    segments: int
    problems: tuple[str, ...]
    """What is wrong, a sentence without a full stop each."""


@dataclass(frozen=True, slots=True)
class PlaceReport:
    """A file or a folder of the program."""

    purpose: str
    path: Path
    exists: bool
    is_writable: bool
    """Whether it can be written, or made."""


def look_at_datastore() -> StoreReport:
    """Counts what there is, and compares all files with their checksums. Changes nothing."""
    folders = vocabulary_folders(paths.datastore_folder())
    seen = [inspect(vocabulary.folder) for vocabulary in folders]
    infos = [info for one in seen for info in one.collections]
    return StoreReport(
        vocabularies=len(folders),
        collections=len({info.name for info in infos}),
        documents=sum(info.documents for info in infos),
        tokens=sum(info.tokens for info in infos),
        bytes=sum(info.stored_bytes for info in infos),
        segments=sum(info.segments for info in infos),
        problems=tuple(problem for one in seen for problem in one.problems),
    )


def look_at_places() -> list[PlaceReport]:
    """Every place of the program."""
    places = {
        "settings": paths.config_file(),
        "data": paths.data_folder(),
        "chats": paths.history_file(),
        "datastore": paths.datastore_folder(),
        "models": paths.models_folder(),
        "step costs": paths.step_cost_folder(),
        "log": paths.log_file(),
    }
    return [
        PlaceReport(purpose, path, path.exists(), _is_writable(path))
        for purpose, path in places.items()
    ]


def _is_writable(path: Path) -> bool:
    for place in (path, *path.parents):
        if place.exists():
            return os.access(place, os.W_OK) and (place is path or place.is_dir())
    return False
