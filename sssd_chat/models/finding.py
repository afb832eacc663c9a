"""All models on this machine, wherever people keep them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sssd_chat import paths
from sssd_chat.models.caches import hugging_face_models, ollama_models
from sssd_chat.models.description import ModelDescription
from sssd_chat.models.header_cache import HeaderCache, Reading, Stamp, stamp_of
from sssd_chat.models.places import Layout, Place, all_places
from sssd_chat.models.quantizations import quantization_in
from sssd_chat.models.scanning import Candidate, grouped, scan

PATIENCE = 0.08
"""Seconds that new files are read for: a large vocabulary takes 15 ms, and a list of hundreds of
models is to be there in the blink of an eye."""
_ALWAYS = 4
"""Files that are read to their end, however slow the disk is."""

_now = time.monotonic


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model file, or what would be one."""

    name: str
    """What `--model` takes for it; two files may share one."""
    path: Path
    """The file to open; of a split model the first."""
    files: tuple[Path, ...]
    """All of its files."""
    place: str
    """Who keeps it: "sssd-chat", "Hugging Face", …"""
    repository: str | None
    """OWNER/NAME that it was downloaded from, where known."""
    bytes: int
    """Of all its files."""
    description: ModelDescription | None
    problem: str | None
    """Why it cannot be used, in a sentence; None when it can."""


def find_models(
    folders: Sequence[Path] = (), patience: float = PATIENCE, clock: Callable[[], float] = _now
) -> list[FoundModel]:
    """Every model file that is found, by place (see `all_places`) and name; `folders` are those of
    the settings. A file that is found twice is listed once. Opens nothing that was read before and
    has not changed.

    Files that were not read before are read for `patience` seconds, a few of them in any case. Of
    further ones only the beginning is read, which does not tell everything (see ModelDescription),
    nor whether the file is whole; the next search goes on with them.
    """
    cache = HeaderCache(paths.model_headers_file())
    ends = clock() + patience
    found: list[FoundModel] = []
    seen: set[tuple[int, int]] = set()
    for place in all_places(folders):
        models = []
        for candidate in _candidates(place):
            if _is_new(candidate, seen):
                whole = cache.reads < _ALWAYS or clock() < ends
                models.append(_found(candidate, place.name, cache, whole))
        found += sorted(models, key=lambda model: (model.name.casefold(), model.path))
    cache.save()
    return found


def find_at(path: Path) -> FoundModel:
    """The model in a file whose place is not known, read now."""
    parts = [file for file in _siblings(path) if file.suffix == path.suffix] or [path]
    candidates = [one for one in grouped(parts, path.parent) if path in one.files]
    candidate = candidates[0] if candidates else Candidate(path.name, (path,))
    return _found(candidate, "", HeaderCache(None), whole=True)


def completed(model: FoundModel) -> FoundModel:
    """The model with all that its header says, read now where only the beginning was."""
    if model.description is None or model.description.is_whole:
        return model
    candidate = Candidate(model.name, model.files, model.repository)
    return _found(candidate, model.place, HeaderCache(None), whole=True)


def _siblings(path: Path) -> list[Path]:
    try:
        return list(path.parent.iterdir())
    except OSError:
        return []


def _candidates(place: Place) -> list[Candidate]:
    match place.layout:
        case Layout.HUGGING_FACE:
            return hugging_face_models(place.path)
        case Layout.OLLAMA:
            return ollama_models(place.path)
        case Layout.FILE:
            return grouped([place.path], place.path.parent)
        case Layout.FOLDERS:
            return scan(place.path)


def _is_new(candidate: Candidate, seen: set[tuple[int, int]]) -> bool:
    """Whether its file was not found by another name: snapshots are links, and places overlap."""
    try:
        status = candidate.path.stat()
    except OSError:
        return True
    place = (status.st_dev, status.st_ino)
    if place in seen:
        return False
    seen.add(place)
    return True


def _found(candidate: Candidate, place: str, cache: HeaderCache, whole: bool) -> FoundModel:
    stamp = stamp_of(candidate.files)
    reading = _reading(candidate, stamp, cache, whole)
    description = reading.description
    if description is not None and description.quantization is None and not description.is_whole:
        # It often stands at the end of the header, and nearly always in the name.
        description = replace(description, quantization=quantization_in(candidate.name))
    problem = reading.problem
    if problem is None and description is not None and description.unsuitable:
        problem = f"{candidate.name} {description.unsuitable}."
    return FoundModel(
        candidate.name,
        candidate.path,
        candidate.files,
        place,
        candidate.repository,
        sum(size for _, size, _ in stamp),
        description,
        problem,
    )


def _reading(candidate: Candidate, stamp: Stamp, cache: HeaderCache, whole: bool) -> Reading:
    """What its header says. A half of a model is not opened: its names tell enough."""
    if candidate.problem is not None:
        return Reading(None, f"{candidate.name} cannot be used: {candidate.problem}.")
    if not stamp:
        return Reading(None, f"{candidate.name} cannot be used: the file cannot be looked at.")
    reading = cache.read(candidate.path, stamp, whole)
    if reading.problem is not None:
        # The blobs of a cache have names that say nothing.
        problem = reading.problem.replace(candidate.path.name, candidate.name)
        reading = replace(reading, problem=problem)
    return reading
