"""Options that several commands share, and what they mean to the lower rooms.

An option that was not given is None: then the user's settings count.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

_Value = TypeVar("_Value")

if TYPE_CHECKING:
    from sssd_chat.config import Config
    from sssd_chat.conversation.learning import LearningSettings
    from sssd_chat.conversation.session import ChatSettings
    from sssd_chat.generation.loading import EngineSettings
    from sssd_chat.llama.kv_cache import CacheSettings


NONE_KEPT = (
    "No chat can go on, since none is kept: allow it with `sssd-chat config set history.keep true`."
)

LEAST_CONTEXT = 16
"""Tokens; fewer hold no prompt of a chat template."""
_MOST = 2**63 - 1
"""The largest whole number that the databases can hold."""


def number(low: float, high: float, kind: type[int] | type[float] = float) -> type:
    """An argparse type for a number between `low` and `high`."""

    def parse(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            word = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"'{text}' is not {word}") from None
        if not low <= value <= high:
            bounds = f"{low:g} or more" if value < low else f"at most {high:,}"
            bounds = f"{low:g} to {high:g}" if high < _MOST else bounds
            raise argparse.ArgumentTypeError(f"{text} is out of range: it may be {bounds}")
        return value

    return parse  # type: ignore[return-value]


def whole(low: int, high: int = _MOST) -> type:
    """An argparse type for a whole number from `low`."""
    return number(low, high, int)


def name(text: str) -> str:
    """An argparse type for a name that something was given: bytes that are no text are in none."""
    return text.encode("utf-8", "replace").decode()


def path(text: str) -> Path:
    """An argparse type for a path, which may begin with a "~". An empty one is mostly a variable
    that is not set, and would mean the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("the path is empty")
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        # A "~user" whose home folder is not known.
        raise argparse.ArgumentTypeError(f"{text} cannot be followed: {error}") from error


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """Which model runs, and how."""
    from sssd_chat.config.settings import FLASH_ATTENTION

    group = parser.add_argument_group("model")
    group.add_argument(
        "--model",
        metavar="NAME|PATH",
        help="GGUF file, or the name of one, see `sssd-chat models list` (default: model.path of "
        "the settings, or else the starter model)",
    )
    group.add_argument(
        "--ctx",
        type=whole(LEAST_CONTEXT),
        metavar="N",
        help="tokens of context (default: what the model was trained for, at most 8192)",
    )
    group.add_argument(
        "--threads",
        type=whole(1, 1024),
        metavar="N",
        help="for one token at a time (default: as tuned, or the physical cores)",
    )
    group.add_argument(
        "--threads-batch",
        type=whole(1, 1024),
        metavar="N",
        help="for prompts and drafts (default: as tuned, or as many as --threads)",
    )
    group.add_argument(
        "--flash-attn",
        choices=FLASH_ATTENTION,
        help="attention in one pass (default: as tuned, or auto: off on a CPU, on a GPU where "
        "llama.cpp can)",
    )
    add_cache_options(group)
    group.add_argument(
        "--gpu-layers",
        type=whole(-1),
        metavar="N",
        help="layers to offload, -1 for all (default: all that fit, where llama.cpp was built for "
        "a GPU)",
    )


def add_cells_option(parser: argparse._ActionsContainer) -> None:
    """How much all answers that are written at once may hold."""
    parser.add_argument(
        "--cells",
        type=whole(1, 2**31 - 1),
        metavar="N",
        help="tokens that all answers and their prompts may hold together, in one KV cache "
        "(default: --ctx for each of --parallel)",
    )


def add_cache_options(parser: argparse._ActionsContainer) -> None:
    """What the KV cache consists of."""
    from sssd_chat.config.settings import CACHE_TYPES

    for option, what in (("k", "keys"), ("v", "values")):
        parser.add_argument(
            f"--cache-type-{option}",
            choices=CACHE_TYPES,
            metavar="TYPE",
            help=f"numbers of the KV cache's {what}: {', '.join(CACHE_TYPES)} (default: f16)",
        )


def add_datastore_options(parser: argparse.ArgumentParser) -> None:
    """What drafts come from besides the conversation."""
    group = parser.add_argument_group("datastore")
    add_starter_option(group)
    group.add_argument(
        "--no-learn",
        dest="learn",
        action="store_false",
        default=None,
        help="do not let this chat's answers join the datastore now",
    )


def add_starter_option(parser: argparse._ArgumentGroup) -> None:
    """Whether the starter collections are drafted from."""
    parser.add_argument(
        "--no-starter",
        dest="starter",
        action="store_false",
        default=None,
        help="do without the collections that came with the program",
    )


def add_answer_options(parser: argparse.ArgumentParser) -> None:
    """How an answer is written."""
    group = parser.add_argument_group("answer", "Defaults are those of `sssd-chat config show`.")
    group.add_argument("--system", metavar="TEXT", help="system prompt")
    group.add_argument("--max-tokens", type=whole(1), metavar="N", help="longest answer")
    group.add_argument(
        "--temperature",
        type=number(0, 100),
        metavar="T",
        help="0 always takes the likeliest token",
    )
    group.add_argument("--top-p", type=number(0, 1), metavar="P", help="1 is off")
    group.add_argument("--top-k", type=whole(0), metavar="K", help="0 is off")
    group.add_argument("--min-p", type=number(0, 1), metavar="P", help="0 is off")
    group.add_argument(
        "--repeat-penalty",
        type=number(0.01, 10),
        metavar="X",
        help="over 1 discourages repetition, 1 is off",
    )
    group.add_argument(
        "--seed", type=whole(0), metavar="N", help="makes a sampled answer repeatable"
    )
    group.add_argument(
        "--stop",
        action="append",
        metavar="TEXT",
        default=[],
        help="end the answer before this text; may be given several times",
    )
    group.add_argument(
        "--thinking",
        action=argparse.BooleanOptionalAction,
        help="ask the model to think first, or not to, where its chat template can",
    )
    draft = group.add_mutually_exclusive_group()
    draft.add_argument(
        "--draft", action="store_true", default=None, help="draft, whatever the settings say"
    )
    draft.add_argument(
        "--no-draft", dest="draft", action="store_false", default=None, help="decode plainly"
    )


def add_chat_choice(parser: argparse.ArgumentParser) -> None:
    """Which chat goes on."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--continue", dest="resume", action="store_true", help="go on with the chat used last"
    )
    group.add_argument(
        "--chat",
        type=whole(1),
        metavar="ID",
        help="go on with this chat, see `sssd-chat chats list`",
    )


def wants_chat(options: argparse.Namespace) -> bool:
    """Whether an earlier chat is to go on."""
    return bool(options.resume) or options.chat is not None


def load_settings(*, quiet: bool = False) -> Config:
    """The user's settings; what is wrong with them is said on stderr."""
    from sssd_chat.config import load_config

    config = load_config()
    if not quiet:
        for notice in config.notices:
            print(f"sssd-chat: {notice}", file=sys.stderr)
    return config


def model_path(options: argparse.Namespace, config: Config) -> Path:
    """The file of the target model. Raises UserError when there is none."""
    from sssd_chat import paths
    from sssd_chat.models.resolve import resolve_model

    here = paths.config_file().parent
    if options.model is None and config.model.path is not None:
        return resolve_model(str(here / Path(config.model.path).expanduser()))
    return resolve_model(options.model, model_folders(config))


def model_folders(config: Config) -> list[Path]:
    """The folders of the settings in which models are looked for."""
    from sssd_chat import paths

    here = paths.config_file().parent
    return [here / Path(folder).expanduser() for folder in config.model.folders]


def engine_settings(options: argparse.Namespace, config: Config | None = None) -> EngineSettings:
    """The model options as the engine takes them; without `config`, nothing but the options
    counts, not even what was tuned. Raises UserError when there is no model."""
    from sssd_chat import paths
    from sssd_chat.config import Config
    from sssd_chat.generation.loading import EngineSettings

    tuning_folder = None if config is None else paths.tuning_folder()
    config = config or Config()
    return EngineSettings(
        model_path(options, config),
        _first(options.ctx, config.model.context),
        _first(options.threads, config.model.threads),
        _first(options.gpu_layers, config.model.gpu_layers),
        cost_folder=paths.step_cost_folder(),
        experience_folder=paths.experience_folder(),
        datastore_folder=paths.datastore_folder(),
        threads_batch=_first(options.threads_batch, config.model.threads_batch),
        flash_attention=_first(options.flash_attn, config.model.flash_attention),
        cache_type_k=_first(options.cache_type_k, config.model.cache_type_k),
        cache_type_v=_first(options.cache_type_v, config.model.cache_type_v),
        tuning_folder=tuning_folder,
        rpc_servers=config.model.rpc_servers,
    )


def many_settings(options: argparse.Namespace, config: Config) -> EngineSettings:
    """The same for a command that writes `--parallel` answers at once, with the `--cells` that they
    share. Raises UsageError where these cannot go together."""
    from dataclasses import replace

    from sssd_chat.errors import UsageError

    engine = replace(
        engine_settings(options, config), sequences=options.parallel, cells=options.cells
    )
    if options.cells is None:
        return engine
    least = LEAST_CONTEXT * options.parallel
    if options.cells < least:
        raise UsageError(
            f"--cells {options.cells} is too few for {options.parallel} answers at once: use "
            f"{least} or more, or a smaller --parallel."
        )
    if options.ctx is not None and options.ctx > options.cells:
        raise UsageError(
            f"--ctx {options.ctx} is more than all answers may hold together: use --cells "
            f"{options.ctx} or more."
        )
    return engine


def cache_settings(options: argparse.Namespace, config: Config) -> CacheSettings:
    """The KV cache of the options, as far as they have one, or of the settings."""
    from sssd_chat.llama.kv_cache import AUTO, USUAL_TYPE, CacheSettings

    model = config.model
    return CacheSettings(
        options.cache_type_k or model.cache_type_k or USUAL_TYPE,
        options.cache_type_v or model.cache_type_v or USUAL_TYPE,
        getattr(options, "flash_attn", None) or model.flash_attention or AUTO,
    )


def check_cache_options(path: Path, options: argparse.Namespace, config: Config) -> None:
    """Raises UserError when the model cannot have the KV cache that was asked for. Where none was,
    nothing is imported or read."""
    asked = (options.cache_type_k, options.cache_type_v, config.model.cache_type_k)
    if any((*asked, config.model.cache_type_v)):
        from sssd_chat.llama.gguf import read_header
        from sssd_chat.llama.kv_cache import check_cache

        check_cache(read_header(path), cache_settings(options, config))


def learning_settings(options: argparse.Namespace, config: Config) -> LearningSettings:
    """The datastore's options as a chat takes them."""
    from sssd_chat import paths
    from sssd_chat.conversation.learning import LearningSettings

    return LearningSettings(
        paths.history_file(),
        paths.texts_file(),
        paths.savings_file(),
        learns=_first(options.learn, config.datastore.learn),
        starters=_first(options.starter, config.datastore.starter),
    )


def chat_settings(
    options: argparse.Namespace, config: Config, system: str | None = None
) -> ChatSettings:
    """The answer options as a chat takes them. `system` is the system prompt of a chat that goes
    on: it goes before that of the settings."""
    from sssd_chat.conversation.session import ChatSettings
    from sssd_chat.generation.engine import GenerationSettings
    from sssd_chat.llama.sampler import SamplerSettings

    answer = config.answer
    sampler = SamplerSettings(
        temperature=_first(options.temperature, answer.temperature),
        top_k=_first(options.top_k, answer.top_k),
        top_p=_first(options.top_p, answer.top_p),
        min_p=_first(options.min_p, answer.min_p),
        repeat_penalty=_first(options.repeat_penalty, answer.repeat_penalty),
        seed=options.seed,
    )
    generation = GenerationSettings(
        sampler,
        _first(options.max_tokens, answer.max_tokens),
        tuple(options.stop),
        _first(options.draft, answer.drafting),
    )
    return ChatSettings(
        _first(options.system, _first(system, answer.system)),
        generation,
        thinking=_first(options.thinking, answer.thinking),
        read_ahead=config.prefill.while_typing,
        read_ahead_on_battery=config.prefill.on_battery,
        state_cache_megabytes=config.state_cache.megabytes,
    )


def _first(given: _Value | None, otherwise: _Value) -> _Value:
    return otherwise if given is None else given
