"""`sssd-chat ask`: one answer on stdout."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from sssd_chat.cli import options as shared
from sssd_chat.cli.console import Interrupt, figure, read_question, show_status

if TYPE_CHECKING:
    from sssd_chat.cli.keeping import Keeper
    from sssd_chat.config import Config
    from sssd_chat.conversation.attachments import Attachment
    from sssd_chat.conversation.learning import Learner
    from sssd_chat.conversation.session import ChatSession
    from sssd_chat.conversation.thinking import Parts
    from sssd_chat.generation.engine import Generation
    from sssd_chat.generation.loading import LoadedEngine, State


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = argparse.ArgumentParser(
        prog="sssd-chat ask",
        description="Answers one question. The question is the argument, or standard input, or "
        "both: the argument first. The answer is kept when a chat goes on with it. When several "
        "go on with a chat at once, each answer begins a branch of it.",
    )
    result.add_argument("prompt", nargs="*", metavar="PROMPT")
    result.add_argument(
        "--attach",
        action="append",
        type=shared.path,
        metavar="PATH",
        default=[],
        help="put the text of a document before the question; may be given several times",
    )
    shared.add_chat_choice(result)
    shared.add_model_options(result)
    shared.add_datastore_options(result)
    shared.add_answer_options(result)
    group = result.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="print one object with the statistics")
    group.add_argument(
        "--show-thinking",
        action="store_true",
        help="print what the model thinks before its answer, too",
    )
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
    from sssd_chat.cli.keeping import Keeper

    config = shared.load_settings(quiet=options.quiet)
    keeper = Keeper(options, config)
    try:
        return _answer_and_keep(options, config, question, keeper, interrupt)
    finally:
        keeper.close()


def _answer_and_keep(
    options: argparse.Namespace,
    config: Config,
    question: str,
    keeper: Keeper,
    interrupt: Interrupt,
) -> int:
    from sssd_chat.cli.main import INTERRUPTED
    from sssd_chat.conversation.attachments import read_attachment, with_attachments
    from sssd_chat.conversation.session import ChatSession
    from sssd_chat.generation.loading import LoadCancelled, load_engine

    times = _Times(time.perf_counter())
    attachments = [read_attachment(path) for path in options.attach]
    question = with_attachments(question, attachments)
    show_progress = not options.quiet and sys.stderr.isatty()

    def loading(done: float) -> bool:
        if show_progress:
            show_status(f"loading the model {done:4.0%}")
        return not interrupt.came

    try:
        loaded = load_engine(shared.engine_settings(options, config), loading)
    except LoadCancelled:
        return INTERRUPTED
    finally:
        if show_progress:
            show_status("")
    times.load = time.perf_counter() - times.started
    learner = _learner(options, config, loaded)
    try:
        session = ChatSession(loaded, shared.chat_settings(options, config, keeper.system))
        session.restore([(turn.role, turn.text) for turn in keeper.earlier])
        _tell_attached(attachments, session, loaded, options)
        keeper.resume_state(session)
        keeper.question(question, session, loaded.model.vocabulary.fingerprint)
        for notice in (loaded.notice, session.template.notice, keeper.problem):
            _tell(notice, options)
        generation = _write(session, question, options, keeper, interrupt)
        if learner is not None:
            _learn(learner, keeper, generation)
        _report(options, loaded, session.answer(generation), generation, keeper, times)
        session.finish(question, generation)
        keeper.keep_state(session)
        if generation.stopped_by is not None and generation.stopped_by.value == "cancelled":
            return INTERRUPTED
        return 0
    finally:
        if learner is not None:
            learner.close()
        loaded.close()


def _learner(options: argparse.Namespace, config: Config, loaded: LoadedEngine) -> Learner | None:
    """What looks after the datastore while the answer is written."""
    from sssd_chat.conversation.learning import Learner

    if loaded.datastore is None:
        return None
    settings = shared.learning_settings(options, config)
    learner = Learner(loaded.datastore, loaded.model.vocabulary, settings)
    learner.start()
    return learner


def _learn(learner: Learner, keeper: Keeper, generation: Generation[State]) -> None:
    learner.count(generation.statistics)
    if keeper.chat is not None and keeper.turn is not None:
        learner.learn(keeper.chat, keeper.turn, generation.tokens)


def _tell(notice: str, options: argparse.Namespace) -> None:
    if notice and not options.quiet:
        print(f"sssd-chat: {notice}", file=sys.stderr)


def _tell_attached(
    attachments: Sequence[Attachment],
    session: ChatSession,
    loaded: LoadedEngine,
    options: argparse.Namespace,
) -> None:
    """Says how much of the context documents take. Raises UserError when they do not fit."""
    from sssd_chat.conversation.attachments import counted

    if attachments:
        counts = counted(attachments, session, loaded)
        room = loaded.target.context_length
        for attachment, count in zip(attachments, counts, strict=True):
            _tell(f"{attachment.name} takes {count:,} of {room:,} tokens.", options)


def _write(
    session: ChatSession,
    question: str,
    options: argparse.Namespace,
    keeper: Keeper,
    interrupt: Interrupt,
) -> Generation[State]:
    """Runs the answer; keeps it, and writes it as it comes when stdout is a terminal."""
    from sssd_chat.cli.printing import AnswerPrinter

    printer = None if options.json else AnswerPrinter(options.show_thinking)
    show_progress = not options.quiet and sys.stderr.isatty()

    def reading(done: int, total: int) -> bool:
        if show_progress and total > 256:
            show_status(f"reading the prompt {done / total:4.0%}")
        return not interrupt.came

    generation: Generation[State] = session.begin(question, reading)
    if show_progress:
        show_status("")
    for part in session.steps(generation):
        if printer is not None:
            printer.add(part)
        if interrupt.came and not generation.is_finished:
            rest = session.cancel(generation)
            if printer is not None:
                printer.add(rest)
        if not generation.is_finished:
            keeper.checkpoint(session, generation)
    had_problem = bool(keeper.problem)
    keeper.finish(session, generation)
    if not had_problem:
        _tell(keeper.problem, options)
    if printer is not None:
        printer.finish(session.answer(generation))
    return generation


def _report(
    options: argparse.Namespace,
    loaded: LoadedEngine,
    answer: Parts,
    generation: Generation[State],
    keeper: Keeper,
    times: _Times,
) -> None:
    if options.json:
        said = {"text": answer.text, "thinking": answer.thinking}
        kept = {"chat": keeper.chat, "turn": keeper.turn}
        whole = {**said, **as_json(loaded, generation, times), **kept}
        print(json.dumps(whole, ensure_ascii=False))
    elif not options.quiet:
        print(f"sssd-chat: {summary(generation)}", file=sys.stderr)


def as_json(
    loaded: LoadedEngine, generation: Generation[State], times: _Times
) -> dict[str, object]:
    """The statistics of `--json`; numbers that are not known are null."""
    from sssd_chat.generation.provenance import drafted_spans

    answer = generation.statistics
    return {
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
        "draft_shape": loaded.target.shape.value,
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
        "spans": [asdict(span) for span in drafted_spans(generation.drafted)],
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
