"""`sssd-chat verify`: does drafting change the answer?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sssd_chat.cli import options as shared
from sssd_chat.cli.console import Interrupt, read_question, show_status

if TYPE_CHECKING:
    from sssd_chat.conversation.session import ChatSettings
    from sssd_chat.generation.engine import GenerationSettings
    from sssd_chat.generation.loading import LoadedEngine

_DEFAULT_TOKENS = 256
_DEFAULT_SEED = 1


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = argparse.ArgumentParser(
        prog="sssd-chat verify",
        description="Answers a prompt with and without drafts, at temperature 0 and sampled with "
        "a seed, and compares the tokens. Exit code 1 if they differ by more than rounding.",
    )
    result.add_argument("prompt", nargs="*", metavar="PROMPT")
    shared.add_model_options(result)
    shared.add_answer_options(result)
    result.add_argument("--quiet", action="store_true", help="no progress")
    return result


def run(arguments: Sequence[str]) -> int:
    """Runs the command and returns the exit code."""
    command = parser()
    options = command.parse_args(arguments)
    if options.draft is False:
        command.error("--no-draft leaves nothing to compare")
    question = read_question(options.prompt, command)

    from sssd_chat.cli.main import INTERRUPTED
    from sssd_chat.generation.loading import LoadCancelled, load_engine
    from sssd_chat.logs import start_logging

    start_logging()
    config = shared.load_settings(quiet=options.quiet)
    settings = shared.chat_settings(options, config)
    with Interrupt() as interrupt:
        try:
            engine_settings = shared.engine_settings(options, config)
            loaded = load_engine(engine_settings, lambda _: not interrupt.came)
        except LoadCancelled:
            return INTERRUPTED
        try:
            return _verify(options, settings, question, loaded, interrupt)
        finally:
            loaded.close()


def _verify(
    options: argparse.Namespace,
    settings: ChatSettings,
    question: str,
    loaded: LoadedEngine,
    interrupt: Interrupt,
) -> int:
    from sssd_chat.cli.main import INTERRUPTED
    from sssd_chat.conversation.session import ChatSession
    from sssd_chat.conversation.verifying import describe_comparison
    from sssd_chat.generation.comparison import compare

    if not loaded.target.shape.can_draft:
        print("identical: this model cannot take a token back, so it is never drafted for")
        return 0
    session = ChatSession(loaded, settings)
    prompt = session.prompt(question)
    session.close()
    progress = _Progress(options.quiet, interrupt)
    explained = True
    for name, generation in _modes(settings.generation, loaded.target.context_length, len(prompt)):
        result = compare(loaded.engine, prompt, generation, loaded.new_drafter, progress)
        progress.clear()
        if result is None:
            return INTERRUPTED
        print(f"{name}: {describe_comparison(result, loaded)}", flush=True)
        explained = explained and result.is_explained
    return 0 if explained else 1


def _modes(
    settings: GenerationSettings, context: int, prompt: int
) -> list[tuple[str, GenerationSettings]]:
    """Greedy, and sampled with a seed."""
    from sssd_chat.config.settings import AnswerConfig
    from sssd_chat.llama.sampler import SamplerSettings

    limit = settings.max_tokens or _DEFAULT_TOKENS
    settings = replace(settings, max_tokens=max(1, min(limit, context - prompt)))
    sampler: SamplerSettings = settings.sampler
    temperature = sampler.temperature or AnswerConfig().temperature
    seed = _DEFAULT_SEED if sampler.seed is None else sampler.seed
    sampled = replace(sampler, temperature=temperature, seed=seed)
    return [
        ("temperature 0", replace(settings, sampler=replace(sampler, temperature=0.0))),
        (f"temperature {temperature:g}, seed {seed}", replace(settings, sampler=sampled)),
    ]


class _Progress:
    """Tokens so far, on a terminal's stderr."""

    def __init__(self, quiet: bool, interrupt: Interrupt) -> None:
        self._shown = not quiet and sys.stderr.isatty()
        self._interrupt = interrupt

    def __call__(self, run: str, tokens: int) -> bool:
        if self._shown:
            show_status(f"{run}: {tokens} tokens")
        return not self._interrupt.came

    def clear(self) -> None:
        """Leaves an empty line."""
        if self._shown:
            show_status("")
