"""`sssd-chat ask`: one answer on stdout."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sssd_chat.cli import options as shared
from sssd_chat.cli.console import Interrupt, figure, read_question, show_status

if TYPE_CHECKING:
    from sssd_chat.generation.engine import Generation
    from sssd_chat.generation.loading import LoadedEngine, State


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = argparse.ArgumentParser(
        prog="sssd-chat ask",
        description="Answers one question. The question is the argument, or standard input, or "
        "both: the argument first.",
    )
    result.add_argument("prompt", nargs="*", metavar="PROMPT")
    shared.add_model_options(result)
    shared.add_answer_options(result)
    group = result.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="print one object with the statistics")
    group.add_argument("--quiet", action="store_true", help="print the answer and nothing else")
    return result


@dataclass(slots=True)
class _Times:
    """Seconds of the parts that the engine does not time itself."""

    started: float
    load: float = 0.0


def run(arguments: Sequence[str]) -> int:
    """Runs the command and returns the exit code."""
    from sssd_chat.logs import start_logging

    command = parser()
    options = command.parse_args(arguments)
    question = read_question(options.prompt, command)
    start_logging()
    with Interrupt() as interrupt:
        return _answer(options, question, interrupt)


def _answer(options: argparse.Namespace, question: str, interrupt: Interrupt) -> int:
    from sssd_chat.cli.main import INTERRUPTED
    from sssd_chat.conversation.session import ChatSession
    from sssd_chat.generation.loading import LoadCancelled, load_engine

    times = _Times(time.perf_counter())
    show_progress = not options.quiet and sys.stderr.isatty()

    def loading(done: float) -> bool:
        if show_progress:
            show_status(f"loading the model {done:4.0%}")
        return not interrupt.came

    try:
        loaded = load_engine(shared.engine_settings(options), loading)
    except LoadCancelled:
        return INTERRUPTED
    finally:
        if show_progress:
            show_status("")
    times.load = time.perf_counter() - times.started
    try:
        session = ChatSession(loaded, shared.chat_settings(options))
        for notice in (loaded.notice, session.template.notice):
            if notice and not options.quiet:
                print(f"sssd-chat: {notice}", file=sys.stderr)
        generation = _write(session, question, options, interrupt)
        _report(options, loaded, generation, times)
        if generation.stopped_by is not None and generation.stopped_by.value == "cancelled":
            return INTERRUPTED
        return 0
    finally:
        loaded.close()


def _write(
    session: Any, question: str, options: argparse.Namespace, interrupt: Interrupt
) -> Generation[State]:
    """Runs the answer; writes it as it comes when stdout is a terminal."""
    from sssd_chat.text import for_display

    streams = sys.stdout.isatty() and not options.json
    show_progress = not options.quiet and sys.stderr.isatty()

    def reading(done: int, total: int) -> bool:
        if show_progress and total > 256:
            show_status(f"reading the prompt {done / total:4.0%}")
        return not interrupt.came

    generation: Generation[State] = session.begin(question, reading)
    if show_progress:
        show_status("")
    for step in session.steps(generation):
        if streams:
            sys.stdout.write(for_display(step.text))
            sys.stdout.flush()
        if interrupt.came and not generation.is_finished:
            rest = session.cancel(generation)
            if streams:
                sys.stdout.write(for_display(rest))
    if not options.json:
        if not streams:
            sys.stdout.write(generation.text)
        if generation.text and not generation.text.endswith("\n"):
            sys.stdout.write("\n")
        sys.stdout.flush()
    return generation


def _report(
    options: argparse.Namespace, loaded: LoadedEngine, generation: Generation[State], times: _Times
) -> None:
    if options.json:
        print(json.dumps(as_json(loaded, generation, times), ensure_ascii=False))
    elif not options.quiet:
        print(f"sssd-chat: {summary(generation)}", file=sys.stderr)


def as_json(
    loaded: LoadedEngine, generation: Generation[State], times: _Times
) -> dict[str, object]:
    """The object of `--json`; numbers that are not known are null."""
    answer = generation.statistics
    return {
        "text": generation.text,
        "tokens": answer.emitted,
        "steps": answer.steps,
        "tokens_per_step": answer.tokens_per_step,
        "drafted": answer.drafted,
        "tested": answer.tested,
        "accepted": answer.accepted,
        "acceptance_rate": answer.acceptance_rate,
        "tokens_per_second": answer.tokens_per_second,
        "speed_up": answer.speed_up,
        "drafting": answer.drafting.value,
        "prompt_tokens": answer.prompt_tokens,
        "reused_tokens": answer.reused_tokens,
        "seconds": {
            "load": times.load,
            "prefill": answer.prefill_seconds,
            "draft": answer.draft_seconds,
            "decode": answer.decode_seconds,
            "sampling": answer.sampling_seconds,
            "other": answer.other_seconds,
            "total": time.perf_counter() - times.started,
        },
        "by_source": {name: asdict(count) for name, count in answer.by_source.items()},
        "by_depth": {str(depth): asdict(c) for depth, c in sorted(answer.by_depth.items())},
        "stopped_by": generation.stopped_by.value if generation.stopped_by else None,
        "model": {
            "name": loaded.model.name,
            "path": str(loaded.model.path),
            "fingerprint": loaded.model.vocabulary.fingerprint,
        },
    }


def summary(generation: Generation[State]) -> str:
    """The statistics of an answer in one line."""
    answer = generation.statistics
    parts = [
        f"{answer.emitted} tokens",
        f"{figure(answer.tokens_per_second, '.1f')} tokens/s",
        f"{figure(answer.tokens_per_step, '.2f')} tokens a step",
        f"{figure(answer.acceptance_rate, '.0%')} of the tested drafts accepted",
        f"{figure(answer.speed_up, '.2f')}× plain decoding",
    ]
    return " · ".join(parts)
