"""Taking a model off the disk: from our own folder, and from nowhere else."""

from __future__ import annotations

import contextlib
from pathlib import Path

from sssd_chat import paths
from sssd_chat.errors import UserError
from sssd_chat.models.finding import FoundModel
from sssd_chat.models.places import OWN


def check_removable(model: FoundModel) -> None:
    """Raises UserError when the model is not in our own folder, with the place where it is."""
    if model.place != OWN:
        keeper = "a folder of the settings" if model.place == "settings" else model.place
        raise UserError(
            f"{model.name} belongs to {keeper}, not to sssd-chat, and is left alone; it is in "
            f"{model.path.parent}."
        )


def remove(model: FoundModel) -> int:
    """Removes the files of a model in our own folder, and folders that are empty then; returns the
    bytes that were freed. Raises UserError."""
    check_removable(model)
    try:
        for file in model.files:
            file.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{error.filename} cannot be removed: {error.strerror}.") from error
    _remove_empty(model.path.parent)
    return model.bytes


def _remove_empty(folder: Path) -> None:
    """Removes folders in which nothing is left but locks of downloads that are over."""
    own = paths.models_folder()
    with contextlib.suppress(OSError):
        while folder != own and folder.is_relative_to(own):
            left = list(folder.iterdir())
            if not all(one.name.startswith(".") and one.suffix == ".lock" for one in left):
                return
            for lock in left:
                lock.unlink()
            folder.rmdir()
            folder = folder.parent
