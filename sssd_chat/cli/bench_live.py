"""`sssd-chat bench record` and `sssd-chat bench live`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sssd_chat.cli import options as shared
from sssd_chat.cli.console import figure, print_table

if TYPE_CHECKING:
    from sssd_chat.bench.live import LiveQuestion, Peer
    from sssd_chat.bench.questions import Question
    from sssd_chat.bench.recording import RenderTurns
    from sssd_chat.bench.replay import SetStatistics
    from sssd_chat.generation.loading import LoadedEngine


_RECORDED_CONTEXT = 2048
"""Tokens of each conversation of a recording, unless --ctx says otherwise."""


def _renderer(loaded: LoadedEngine, system: str) -> RenderTurns:
    from sssd_chat.conversation.templates import ChatTemplate, Message

    template = ChatTemplate(loaded.model.chat_template, loaded.model.vocabulary)

    def render(earlier: Sequence[tuple[str, str]], question: str) -> list[int]:
        messages = [Message("system", system)] if system else []
        for asked, answered in earlier:
            messages += [Message("user", asked), Message("assistant", answered)]
        return template.render([*messages, Message("user", question)]).tokens

    return render


def record(options: argparse.Namespace) -> int:
    """Runs `bench record` and returns the exit code."""
    from sssd_chat.bench.questions import read_questions
    from sssd_chat.bench.recording import as_line, done_already
    from sssd_chat.bench.recording import record as record_answers
    from sssd_chat.generation.engine import GenerationSettings
    from sssd_chat.generation.loading import load_engine

    questions = read_questions(Path(options.prompts), options.before, options.limit)
    out = Path(options.out)
    done = done_already(out)
    open_questions = [
        question
        for question in questions
        if not all(
            (question.set, str(question.id), turn) in done for turn in range(len(question.turns))
        )
    ]
    parallel = max(1, min(options.parallel, len(open_questions)))
    settings = replace(shared.engine_settings(options), datastore_folder=None)
    loaded = load_engine(
        replace(
            settings,
            sequences=parallel,
            context_length=settings.context_length or _RECORDED_CONTEXT,
            experience_folder=None,
        )
    )
    skipped = 0

    def on_skip(question: Question, why: str) -> None:
        nonlocal skipped
        skipped += 1
        _skipped(question, why)

    tokens = 0
    try:
        with out.open("a", encoding="utf-8") as file:
            for result in record_answers(
                loaded,
                open_questions,
                _renderer(loaded, options.system),
                GenerationSettings(max_tokens=options.max_tokens, drafting=False),
                parallel,
                on_skip,
            ):
                if (result.set, str(result.id), result.turn) in done:
                    continue
                file.write(as_line(result) + "\n")
                file.flush()
                tokens += len(result.out)
                _say(f"{result.set} {result.id}, turn {result.turn + 1}: {tokens} tokens so far")
    finally:
        loaded.close()
    return 1 if skipped else 0


def _say(text: str) -> None:
    print(f"sssd-chat: {text}", file=sys.stderr, flush=True)


def live(options: argparse.Namespace) -> int:
    """Runs `bench live` and returns the exit code."""
    from sssd_chat.bench.live import run_live
    from sssd_chat.bench.questions import read_questions
    from sssd_chat.generation.loading import load_engine

    questions = read_questions(Path(options.prompts), options.before, options.limit)
    # Experience from elsewhere would flatter the numbers.
    loaded = load_engine(
        replace(shared.engine_settings(options), experience_folder=None, datastore_folder=None)
    )
    render = _renderer(loaded, options.system)
    results = []
    try:
        peers = _peers(options, loaded)
        for result in run_live(
            loaded, questions, lambda text: render([], text), peers, options.max_tokens, _skipped
        ):
            results.append(result)
            _say(_progress(result, len(results), len(questions)))
        predicted = _predicted(loaded, results)
        if options.json:
            print(json.dumps(as_json(loaded, results, predicted), ensure_ascii=False))
        else:
            _print_live(results, list(peers), predicted)
    finally:
        loaded.close()
    faults = [r for r in results if r.comparison is not None and not r.comparison.is_explained]
    return 1 if faults else 0


def _skipped(question: Question, why: str) -> None:
    _say(f"{question.set} {question.id} was left out: {why}")


def _peers(options: argparse.Namespace, loaded: LoadedEngine) -> dict[str, Peer]:
    from sssd_chat.bench.live import LIBRARY, PLAIN, PROMPT_LOOKUP, SSSD, EnginePeer, LibraryPeer

    def library(lookup: int | None) -> Peer:
        target = loaded.target
        return LibraryPeer(str(loaded.model.path), target.context_length, target.threads, lookup)

    makers: dict[str, Callable[[], Peer]] = {
        PLAIN: lambda: EnginePeer(loaded, drafting=False),
        SSSD: lambda: EnginePeer(loaded, drafting=True),
        LIBRARY: lambda: library(None),
        PROMPT_LOOKUP: lambda: library(options.lookup_tokens),
    }
    wanted = options.mode or [PLAIN, SSSD, PROMPT_LOOKUP]
    return {name: make() for name, make in makers.items() if name in wanted}


def _predicted(loaded: LoadedEngine, results: Sequence[LiveQuestion]) -> SetStatistics | None:
    """What a replay of the same answers says with the costs that were measured meanwhile."""
    from sssd_chat.bench.live import SSSD, measured_cost
    from sssd_chat.bench.replay import ALL, replay

    records = [r.record for r in results if r.record is not None and len(r.record.out) > 1]
    if not records or SSSD not in results[0].runs:
        return None
    middle = sum(len(r.prompt) + len(r.out) // 2 for r in records) // len(records)
    largest = loaded.engine.cost.largest
    cost = measured_cost(loaded, middle, largest)
    report = replay(records, ["sssd"], cost, largest_batch=largest)
    return report.policies["sssd"][ALL]


def _progress(result: LiveQuestion, number: int, total: int) -> str:
    parts = [
        f"{name} {figure(run.tokens_per_second, '.1f')} tokens/s"
        for name, run in result.runs.items()
    ]
    return f"{number} of {total}, {result.set} {result.id}: {', '.join(parts)}"


def as_json(
    loaded: LoadedEngine, results: Sequence[LiveQuestion], predicted: SetStatistics | None
) -> dict[str, object]:
    """The object of `--json`."""
    from sssd_chat.bench.live import spread

    names = list(results[0].runs) if results else []
    summary = {}
    for name in names:
        ratios = [ratio for r in results if (ratio := r.ratio(name)) is not None]
        found = spread(ratios)
        summary[name] = {
            "tokens_per_second": _speed(results, name),
            "ratio": None if found is None else asdict(found),
        }
    return {
        "model": {"name": loaded.model.name, "path": str(loaded.model.path)},
        "threads": loaded.target.threads,
        "summary": summary,
        "predicted": None if predicted is None else asdict(predicted),
        "step_cost_ms": {
            size: round(1e3 * loaded.engine.cost.seconds(512)[size], 3)
            for size in sorted(loaded.engine.cost.measured_sizes())
        },
        "questions": [
            {
                "set": r.set,
                "id": r.id,
                "modes": {
                    name: {
                        "tokens": len(run.tokens),
                        "seconds": run.seconds,
                        "tokens_per_second": run.tokens_per_second,
                        "tokens_per_step": run.tokens_per_step,
                        "acceptance_rate": run.acceptance_rate,
                        "overhead_ms": run.overhead_ms,
                        "ratio": r.ratio(name),
                        "same_text": r.agrees(name),
                    }
                    for name, run in r.runs.items()
                },
                "difference": None
                if r.comparison is None
                else {
                    "position": r.comparison.first_difference,
                    "logit_gap": r.comparison.logit_gap,
                    "explained_by_rounding": r.comparison.is_explained,
                },
            }
            for r in results
        ],
    }


def _speed(results: Sequence[LiveQuestion], name: str) -> float | None:
    runs = [r.runs[name] for r in results]
    seconds = sum(run.seconds for run in runs)
    return sum(len(run.tokens) - 1 for run in runs) / seconds if seconds else None


def _print_live(
    results: Sequence[LiveQuestion], names: Sequence[str], predicted: SetStatistics | None
) -> None:
    from sssd_chat.bench.live import PLAIN, SSSD, spread

    rows = []
    for name in names:
        ratios = [ratio for r in results if (ratio := r.ratio(name)) is not None]
        found = spread(ratios)
        runs = [r.runs[name] for r in results]
        taus = [run.tokens_per_step for run in runs if run.tokens_per_step is not None]
        rates = [run.acceptance_rate for run in runs if run.acceptance_rate is not None]
        overheads = [run.overhead_ms for run in runs if run.overhead_ms is not None]
        rows.append(
            [
                name,
                figure(_speed(results, name), ".1f"),
                figure(_mean(taus), ".2f"),
                figure(_mean(rates), ".0%"),
                figure(found.mean if found else None, ".2f"),
                figure(found.least if found else None, ".2f"),
                figure(found.most if found else None, ".2f"),
                figure(_mean(overheads), ".2f"),
                str(sum(r.agrees(name) for r in results)) if PLAIN in names else "–",
            ]
        )
    head = ["", "tokens/s", "τ", "accepted", "ratio", "least", "most", "ms a step", "same text"]
    print_table(head, rows)
    if predicted is not None:
        print(f"a replay of these answers predicts {predicted.speedup:.2f} for sssd")
    for r in results:
        if SSSD in r.runs and r.comparison is not None:
            if r.comparison.is_identical:
                print(f"{r.set} {r.id}: differed once, and not when it was run again")
                continue
            verdict = "a near-tie" if r.comparison.is_explained else "NOT explained by rounding"
            print(
                f"{r.set} {r.id}: differs at token {(r.comparison.first_difference or 0) + 1}, "
                f"logit gap {r.comparison.logit_gap:.4f}: {verdict}"
            )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
