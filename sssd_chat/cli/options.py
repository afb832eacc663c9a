"""Options that several commands share, and what they mean to the lower rooms."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sssd_chat.conversation.session import ChatSettings
    from sssd_chat.generation.loading import EngineSettings

DEFAULT_TEMPERATURE = 0.7


def number(low: float, high: float, kind: type[int] | type[float] = float) -> type:
    """An argparse type for a number between `low` and `high`."""

    def parse(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            word = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"'{text}' is not {word}") from None
        if not low <= value <= high:
            bounds = f"{low:g} or more" if high == float("inf") else f"{low:g} to {high:g}"
            raise argparse.ArgumentTypeError(f"{text} is out of range: it may be {bounds}")
        return value

    return parse  # type: ignore[return-value]


def whole(low: int, high: float = float("inf")) -> type:
    """An argparse type for a whole number from `low`."""
    return number(low, high, int)


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """Which model runs, and how."""
    group = parser.add_argument_group("model")
    group.add_argument("--model", metavar="PATH", help="GGUF file (default: the starter model)")
    group.add_argument(
        "--ctx",
        type=whole(16),
        metavar="N",
        help="tokens of context (default: what the model was trained for, at most 8192)",
    )
    group.add_argument(
        "--threads", type=whole(1, 1024), metavar="N", help="default: the physical cores"
    )
    group.add_argument(
        "--gpu-layers",
        type=whole(-1),
        metavar="N",
        help="layers to offload, -1 for all (default: all, where llama.cpp was built for a GPU)",
    )


def add_answer_options(parser: argparse.ArgumentParser) -> None:
    """How an answer is written."""
    group = parser.add_argument_group("answer")
    group.add_argument("--system", metavar="TEXT", default="", help="system prompt")
    group.add_argument("--max-tokens", type=whole(1), metavar="N", help="longest answer")
    group.add_argument(
        "--temperature",
        type=number(0, 100),
        metavar="T",
        default=DEFAULT_TEMPERATURE,
        help=f"0 always takes the likeliest token (default: {DEFAULT_TEMPERATURE})",
    )
    group.add_argument(
        "--top-p", type=number(0, 1), metavar="P", default=0.95, help="default: 0.95; 1 is off"
    )
    group.add_argument(
        "--top-k", type=whole(0), metavar="K", default=40, help="default: 40; 0 is off"
    )
    group.add_argument(
        "--min-p", type=number(0, 1), metavar="P", default=0.05, help="default: 0.05; 0 is off"
    )
    group.add_argument(
        "--repeat-penalty",
        type=number(0.01, 10),
        metavar="X",
        default=1.0,
        help="over 1 discourages repetition (default: 1, off)",
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
    group.add_argument("--no-draft", action="store_true", help="decode plainly")


def engine_settings(options: argparse.Namespace) -> EngineSettings:
    """The model options as the engine takes them. Raises UserError when there is no model."""
    from sssd_chat import paths
    from sssd_chat.generation.loading import EngineSettings
    from sssd_chat.models.resolve import resolve_model

    return EngineSettings(
        resolve_model(options.model),
        options.ctx,
        options.threads,
        options.gpu_layers,
        cost_folder=paths.step_cost_folder(),
        experience_folder=paths.experience_folder(),
    )


def chat_settings(options: argparse.Namespace) -> ChatSettings:
    """The answer options as a chat takes them."""
    from sssd_chat.conversation.session import ChatSettings
    from sssd_chat.generation.engine import GenerationSettings
    from sssd_chat.llama.sampler import SamplerSettings

    sampler = SamplerSettings(
        temperature=options.temperature,
        top_k=options.top_k,
        top_p=options.top_p,
        min_p=options.min_p,
        repeat_penalty=options.repeat_penalty,
        seed=options.seed,
    )
    generation = GenerationSettings(
        sampler, options.max_tokens, tuple(options.stop), not options.no_draft
    )
    return ChatSettings(options.system, generation)
