"""`sssd-chat models`: the model files on this machine, and getting more of them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sssd_chat import paths
from sssd_chat.cli import options as shared
from sssd_chat.cli.console import figure, print_table
from sssd_chat.errors import UserError
from sssd_chat.text import parameter_count

if TYPE_CHECKING:
    from sssd_chat.models.description import MemoryEstimate
    from sssd_chat.models.finding import FoundModel

_USUAL_CONTEXT = 8192
"""Tokens for which memory is told, unless a model was trained for fewer."""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = argparse.ArgumentParser(
        prog="sssd-chat models",
        description="Lists, describes, fetches, chooses and removes model files (GGUF). Those that "
        "Hugging Face programs, llama.cpp, LM Studio, GPT4All, Jan and Ollama keep are found too.",
    )
    kinds = result.add_subparsers(dest="kind", required=True, metavar="COMMAND")
    _add_json(kinds.add_parser("list", help="the models on this machine"))
    info = kinds.add_parser("info", help="what one model is, and what it needs")
    info.add_argument("model", metavar="NAME|PATH")
    info.add_argument(
        "--ctx", type=shared.whole(16), metavar="N", help="tokens of context to tell memory for"
    )
    shared.add_cache_options(info)
    _add_json(info)
    pull = kinds.add_parser(
        "pull",
        help="fetch a model from the Hugging Face Hub",
        description="Fetches a model into the folder of sssd-chat, unless it is on this machine; "
        "an interrupted download goes on when the command is given again. HF_ENDPOINT, HF_HOME and "
        "HF_TOKEN count as everywhere. Prints the path of the file.",
    )
    pull.add_argument("repository", metavar="REPO[:QUANT]", help="OWNER/NAME, and a quantization")
    pull.add_argument("--offline", action="store_true", help="look on this machine alone")
    _add_json(pull)
    use = kinds.add_parser("use", help="make a model that of all commands (model.path)")
    use.add_argument("model", metavar="NAME|PATH")
    remove = kinds.add_parser(
        "remove",
        help="take a model off the disk",
        description="Removes a model that `pull` fetched. Models of other programs are left alone.",
    )
    remove.add_argument("model", metavar="NAME")
    remove.add_argument("--yes", action="store_true", help="do not ask")
    return result


def _add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: Sequence[str]) -> int:
    """Runs the command and returns the exit code."""
    from sssd_chat.logs import start_logging

    options = parser().parse_args(arguments)
    start_logging()
    return _COMMANDS[options.kind](options)


def _list(options: argparse.Namespace) -> int:
    from sssd_chat.models.finding import find_models

    found = find_models(_folders())
    if options.json:
        print(json.dumps([_as_json(model) for model in found]))
        return 0
    usable = [model for model in found if model.problem is None]
    head = ["model", "parameters", "quantization", "size", "context", "drafts", "place"]
    if usable:
        print_table(head, [_row(model) for model in usable])
    for model in found:
        if model.problem is not None:
            _say(f"{_shown(model.problem)} ({model.place})")
    unread = sum(model.description is None or not model.description.is_whole for model in usable)
    if unread:
        _say(
            f"{unread} of these files were not read to their end yet, so their parameters are not "
            "known, and broken ones may be among them; the next list goes on with them."
        )
    if not usable:
        _say("there is no model yet; `sssd-chat models pull OWNER/NAME` fetches one.")
    return 0


def _row(model: FoundModel) -> list[str]:
    told = model.description
    assert told is not None
    return [
        _shown(model.name),
        "–" if told.parameters is None else parameter_count(told.parameters),
        told.quantization or "–",
        _size(model.bytes),
        figure(told.trained_context, ",d"),
        told.draft_shape.value,
        model.place,
    ]


def _info(options: argparse.Namespace) -> int:
    model = _chosen(options.model)
    fingerprint = _fingerprint(model.path)
    told = model.description
    assert told is not None
    context = options.ctx or min(told.trained_context or _USUAL_CONTEXT, _USUAL_CONTEXT)
    memory = told.memory(context, shared.cache_settings(options, shared.load_settings(quiet=True)))
    if options.json:
        more = {
            "fingerprint": fingerprint,
            "memory": {
                "context_tokens": context,
                "weights": memory.weights,
                "context": memory.context,
                "work": memory.work,
                "total": memory.total,
            },
        }
        print(json.dumps(_as_json(model) | more))
        return 0
    for label, value in _lines(model, fingerprint, context, memory):
        print(f"{label:16}{_shown(value)}")
    return 0


def _lines(
    model: FoundModel, fingerprint: str | None, context: int, memory: MemoryEstimate
) -> list[tuple[str, str]]:
    told = model.description
    assert told is not None
    experts = f", {told.experts_used} of {told.experts} experts a token" if told.experts else ""
    parts = f" in {told.parts} files" if told.parts > 1 else ""
    return [
        ("name", model.name),
        ("title", told.title or "–"),
        ("file", str(model.path)),
        ("place", model.place or "–"),
        ("repository", model.repository or "–"),
        ("architecture", told.architecture),
        ("parameters", parameter_count(told.parameters or 0) + experts),
        ("quantization", told.quantization or "–"),
        ("size", _size(model.bytes) + parts),
        ("vocabulary", f"{figure(told.vocabulary_size, ',d')} tokens ({told.tokenizer or '–'})"),
        ("fingerprint", fingerprint or "–"),
        ("trained context", f"{figure(told.trained_context, ',d')} tokens"),
        ("chat template", "in the file" if told.has_template else "none: ChatML is used"),
        ("drafts", told.draft_shape.in_words),
        (
            "memory",
            f"{_size(memory.total)} at {context:,} tokens: weights {_size(memory.weights)}, "
            f"context {_size(memory.context)}, work {_size(memory.work)}",
        ),
        ("licence", told.licence or "not stated"),
    ]


def _fingerprint(path: Path) -> str | None:
    """That of its vocabulary; None when llama.cpp cannot read it."""
    from sssd_chat.llama.model import open_vocabulary

    try:
        with open_vocabulary(path) as vocabulary:
            return vocabulary.fingerprint
    except UserError as error:
        _say(str(error))
        return None


def _pull(options: argparse.Namespace) -> int:
    from sssd_chat.cli.models_pull import pull

    return pull(options.repository, _folders(), options.offline, options.json)


def _use(options: argparse.Namespace) -> int:
    from sssd_chat.config import change_setting

    path = _chosen(options.model).path.absolute()
    file = paths.config_file()
    try:
        change_setting(file, "model.path", str(path))
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror or error}.") from error
    _say(f"{path.name} is used from now on; `sssd-chat config set model.path default` undoes that.")
    return 0


def _remove(options: argparse.Namespace) -> int:
    from sssd_chat.models.finding import find_models
    from sssd_chat.models.places import OWN
    from sssd_chat.models.removing import check_removable, remove
    from sssd_chat.models.resolve import UnknownModel, pick

    found = find_models(_folders())
    own = [model for model in found if model.place == OWN]
    try:
        model = pick(options.model, own)
    except UnknownModel:
        # It may be somebody else's; where it is helps more than that it is not here.
        model = pick(options.model, found)
    check_removable(model)
    if not options.yes and not _confirmed(model):
        _say("nothing was removed.")
        return 1
    freed = remove(model)
    _say(f"{model.name} is removed, {_size(freed)} are free again.")
    return 0


def _confirmed(model: FoundModel) -> bool:
    if not sys.stdin.isatty():
        raise UserError("Removing a model needs --yes where nobody can be asked.")
    question = f"Remove {_shown(model.name)} ({_size(model.bytes)}) from the disk? [y/N] "
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


_COMMANDS = {"list": _list, "info": _info, "pull": _pull, "use": _use, "remove": _remove}


def _folders() -> list[Path]:
    return shared.model_folders(shared.load_settings())


def _chosen(argument: str) -> FoundModel:
    """The model that NAME|PATH names. Raises UserError when it cannot be used."""
    from sssd_chat.models.finding import completed, find_at, find_models
    from sssd_chat.models.resolve import resolve_model

    folders = _folders()
    path = resolve_model(argument, folders)
    known = [model for model in find_models(folders) if model.path == path]
    model = completed(known[0]) if known else find_at(path)
    if model.problem is not None:
        raise UserError(model.problem)
    return model


def _as_json(model: FoundModel) -> dict[str, Any]:
    told = model.description
    return {
        "name": model.name,
        "path": str(model.path),
        "files": [str(file) for file in model.files],
        "place": model.place or None,
        "repository": model.repository,
        "bytes": model.bytes,
        "problem": model.problem,
        "description": None if told is None else told.as_json(),
    }


def _size(count: int) -> str:
    for power, unit in ((9, "GB"), (6, "MB"), (3, "kB")):
        if count >= 10**power:
            return f"{count / 10**power:.3g} {unit}"
    return f"{count} B"


def _shown(text: str) -> str:
    from sssd_chat.text import one_line

    return one_line(text)


def _say(sentence: str) -> None:
    print(f"sssd-chat: {sentence}", file=sys.stderr)
