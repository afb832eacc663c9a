"""`models pull`: from the name of a repository to a model in our own folder."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import psutil
from filelock import FileLock, Timeout

from sssd_chat import paths
from sssd_chat.errors import UserError
from sssd_chat.files import make_private_folder
from sssd_chat.models.download import Patience, Progress, bytes_left, fetch, is_fetched
from sssd_chat.models.finding import FoundModel, find_models
from sssd_chat.models.hub import Hub, HubError, Repository
from sssd_chat.models.quantizations import Choice, Offer, RemoteFile, choose, offers

_SPARE_BYTES = 256_000_000
"""Left free on the disk."""


@dataclass(frozen=True, slots=True)
class Pulled:
    """What became of a pull."""

    path: Path
    """The file to open."""
    was_there: bool
    """Whether nothing had to be fetched."""


@dataclass(frozen=True, slots=True)
class Listener:
    """What is told while a model is fetched."""

    chosen: Callable[[Choice], None] = lambda _: None
    progress: Callable[[RemoteFile, int, int], None] = lambda _file, _have, _all: None
    patience: Patience = field(default_factory=Patience)


def pull(
    name: str, quantization: str | None, folders: Sequence[Path], listener: Listener
) -> Pulled:
    """Fetches a model of the repository `name` unless it is on this machine; `folders` are those
    of the settings. Raises UserError."""
    hub = Hub()
    repository = _patiently(lambda: hub.repository(name), listener.patience)
    memory = psutil.virtual_memory().total
    choice = choose(repository.name, offers(repository.files), quantization, memory)
    listener.chosen(choice)
    targets = [_target(repository, file) for file in choice.offer.files]
    there = _in_cache(choice.offer, folders)
    if there is not None:
        return Pulled(there.path, True)
    with _alone(targets[0]):
        wanted = list(zip(choice.offer.files, targets, strict=True))
        missing = [(file, target) for file, target in wanted if not is_fetched(file, target)]
        _check_space(missing)
        for file, target in missing:
            fetch(
                file,
                target,
                lambda one, start: hub.open(repository, one, start),
                _progress_of(file, listener),
                listener.patience,
            )
    return Pulled(targets[0], not missing)


def find_pulled(name: str, quantization: str | None, folders: Sequence[Path]) -> Pulled:
    """The model of a repository that is on this machine, without any look at the network. Raises
    UserError when there is none, or more than one."""
    found = [
        model
        for model in find_models(folders)
        if model.problem is None and (model.repository or "").casefold() == name.casefold()
    ]
    wanted = [model for model in found if quantization is None or _has(model, quantization)]
    if len(wanted) == 1:
        return Pulled(wanted[0].path, True)
    if found:
        names = ", ".join(model.name for model in wanted or found)
        raise UserError(f"Of {name}, these are on this machine: {names}; use one of these names.")
    raise UserError(f"{name} is not on this machine, and offline nothing can be fetched.")


def _has(model: FoundModel, quantization: str) -> bool:
    description = model.description
    known = description.quantization if description is not None else None
    wanted = quantization.casefold()
    return wanted in ((known or "").casefold(), model.name.casefold(), model.path.name.casefold())


def _in_cache(offer: Offer, folders: Sequence[Path]) -> FoundModel | None:
    """The same files in the Hugging Face cache, which names files by their checksums."""
    sums = [file.sha256 for file in offer.files]
    for model in find_models(folders):
        is_whole = model.problem is None and model.bytes == offer.size
        if is_whole and [file.resolve().name for file in model.files] == sums:
            return model
    return None


def _target(repository: Repository, file: RemoteFile) -> Path:
    parts = PurePosixPath(file.name).parts
    # The name comes from elsewhere and becomes a path.
    if any(part in ("..", "/") or "\\" in part or "\0" in part for part in parts) or not parts:
        raise UserError(f"{repository.name} has a file of an impossible name: {file.name!r}.")
    return paths.models_folder().joinpath(*repository.name.split("/"), *parts)


@contextlib.contextmanager
def _alone(target: Path) -> Iterator[None]:
    """Two programs must not write to one file."""
    lock = FileLock(target.with_name(f".{target.name}.lock"), timeout=0, mode=0o600)
    try:
        make_private_folder(target.parent)
        lock.acquire()
    except Timeout:
        raise UserError(f"Another program is fetching {target.name}; wait for it.") from None
    except OSError as error:
        raise UserError(f"{target.parent} cannot be written: {error.strerror}.") from error
    try:
        yield
    finally:
        lock.release()


def _check_space(files: Sequence[tuple[RemoteFile, Path]]) -> None:
    if not files:
        return
    left = sum(bytes_left(file, target) for file, target in files)
    free = shutil.disk_usage(files[0][1].parent).free
    if left + _SPARE_BYTES > free:
        raise UserError(
            f"There is not enough room in {paths.models_folder()}: {_gigabytes(left)} are to be "
            f"fetched, and {_gigabytes(free)} are free."
        )


def _progress_of(file: RemoteFile, listener: Listener) -> Progress:
    return lambda have, size: listener.progress(file, have, size)


def _patiently(action: Callable[[], Repository], patience: Patience) -> Repository:
    failures = 0
    while True:
        try:
            return action()
        except HubError as error:
            failures += 1
            patience.wait(error, failures)


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.2f} GB"
