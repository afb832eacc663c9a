"""The datastores that there are: one folder for each vocabulary, named by its fingerprint."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path

from sssd_chat.files import write_atomically

_MODELS = "models.json"


@dataclass(frozen=True, slots=True)
class VocabularyFolder:
    """The datastore of one vocabulary, on the disk."""

    fingerprint: str
    folder: Path
    models: tuple[str, ...]
    """Files of models that were used with it, the last one last."""


def vocabulary_folders(root: Path) -> list[VocabularyFolder]:
    """All of them, by fingerprint."""
    if not root.is_dir():
        return []
    return [
        VocabularyFolder(folder.name, folder, _models(folder))
        for folder in sorted(root.iterdir())
        if folder.is_dir()
    ]


def note_model(root: Path, fingerprint: str, model: str) -> None:
    """Notes that a model uses a vocabulary. A disk that refuses is no matter."""
    folder = root / fingerprint
    models = _models(folder)
    if models[-1:] != (model,):
        known = [*(name for name in models if name != model), model]
        with contextlib.suppress(OSError):
            write_atomically(folder / _MODELS, json.dumps(known).encode())


def _models(folder: Path) -> tuple[str, ...]:
    try:
        return tuple(map(str, json.loads((folder / _MODELS).read_bytes())))
    except (OSError, ValueError, TypeError):
        return ()
