"""`sssd-chat tune`: how a model runs fastest on this machine."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sssd_chat.cli import options as shared
from sssd_chat.errors import UserError, reason

if TYPE_CHECKING:
    from pathlib import Path

    from sssd_chat.diagnosis.tuning import Finding, TuningReport
    from sssd_chat.generation.loading import EngineSettings
    from sssd_chat.generation.tuning import Tuning


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = argparse.ArgumentParser(
        prog="sssd-chat tune",
        description="Measures how the model runs fastest here: threads, threads for batches, flash "
        "attention, a KV cache in eight bits. What is better by more than the noise is kept for "
        "this model, build and machine, and used wherever neither an option nor a setting says "
        "otherwise. Nothing else should run meanwhile.",
    )
    shared.add_model_options(result)
    result.add_argument(
        "--seconds",
        type=shared.number(1, 3600),
        default=60.0,
        metavar="S",
        help="time to measure (default: 60; a large model takes longer)",
    )
    result.add_argument(
        "--lossy",
        action="store_true",
        help="keep a KV cache in eight bits where it is faster, though it changes what is written",
    )
    result.add_argument("--dry-run", action="store_true", help="measure, and keep nothing")
    result.add_argument("--forget", action="store_true", help="drop what was kept for the model")
    result.add_argument("--json", action="store_true", help="print one object")
    return result


def run(arguments: Sequence[str]) -> int:
    """Runs the command and returns the exit code."""
    from sssd_chat.logs import start_logging

    options = parser().parse_args(arguments)
    start_logging()
    settings = shared.engine_settings(options, shared.load_settings())
    if options.forget:
        return _forget(settings)
    from sssd_chat.diagnosis.tune_model import tune_model

    with _ProgressLine() as line:
        report, tuning = tune_model(settings, options.seconds, options.lossy, line.show)
    kept = None if options.dry_run else _keep(settings, tuning)
    if options.json:
        print(json.dumps(_as_json(report, tuning, kept), indent=2))
        return 0
    for text in _lines(report, tuning):
        print(text)
    if report.was_busy:
        _say("the machine was busy, so the measurements scatter; tune again when it is not.")
    if kept is not None:
        _say(f"this is used from now on; {_undo(options)} drops it.")
    return 0


class _ProgressLine:
    """What is being done, on stderr: a line that is written over, or a line for each new thing
    where that is no terminal."""

    def __init__(self) -> None:
        self._shown = ""

    def __enter__(self) -> _ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def show(self, text: str, number: int) -> None:
        """Shows what is being done now, for the how manyth time."""
        if sys.stderr.isatty():
            again = f", round {number}" if number > 1 else ""
            print(f"\r\x1b[Ktuning: {text}{again}", end="", file=sys.stderr, flush=True)
        elif text != self._shown:
            _say(f"tuning: {text}")
        self._shown = text


def _forget(settings: EngineSettings) -> int:
    from sssd_chat.generation.tuning import forget_tuning

    try:
        was_known = forget_tuning(settings)
    except OSError as error:
        raise UserError(f"The tuning cannot be dropped: {reason(error)}.") from error
    _say(
        f"the tuning of {settings.path.name} is dropped."
        if was_known
        else f"{settings.path.name} is not tuned; nothing was dropped."
    )
    return 0


def _keep(settings: EngineSettings, tuning: Tuning) -> Path | None:
    from sssd_chat.generation.tuning import save_tuning

    try:
        return save_tuning(settings, tuning)
    except OSError as error:
        raise UserError(f"The tuning cannot be kept: {reason(error)}.") from error


def _lines(report: TuningReport, tuning: Tuning) -> list[str]:
    usual, best = report.usual.candidate, report.best.candidate
    lines = [
        _changed("threads", usual.threads, best.threads),
        _changed("threads for batches", usual.threads_batch, best.threads_batch),
        _changed("flash attention", usual.cache.flash_attention, best.cache.flash_attention),
        _changed("KV cache", usual.cache.type_k, best.cache.type_k),
        _rates("plain", tuning.plain_before, tuning.plain),
        _rates("with drafts, expected", tuning.drafted_before, tuning.drafted),
        "",
    ]
    lines += [f"tried {_tried(finding)}" for finding in report.findings]
    if report.small_cache is not None:
        lines += [f"tried {_tried(report.small_cache)}", *_about_small_cache(report)]
    curve = report.best.curve
    lines += ["", f"a step after {report.text_tokens} tokens, by tokens in it:"]
    lines += [f"{n:6}  {t * 1e3:8.2f} ms  {t / curve[1]:6.2f}×" for n, t in curve.items()]
    return lines


def _changed(what: str, before: object, after: object) -> str:
    return f"{what:24}{before}" + ("" if before == after else f" → {after}")


def _rates(what: str, before: float, after: float) -> str:
    rest = "" if before == after else f" → {after:.1f}"
    return f"{what:24}{before:.1f}{rest} tokens/s"


def _tried(finding: Finding) -> str:
    gain, noise = finding.verdict.gain, finding.verdict.noise
    if finding.before == finding.after:
        return f"{finding.option}: none is better than {finding.before}"
    told = f"{abs(gain):.0%} {'faster' if gain > 0 else 'slower'}, noise {noise:.0%}"
    return f"{finding.option} {finding.before} → {finding.after}: {told}"


def _about_small_cache(report: TuningReport) -> list[str]:
    if report.small_cache is None or not report.small_cache.verdict.is_better:
        return []
    if report.best.candidate.cache.type_k == report.small_cache.after:
        return ["the cache in eight bits is kept: what is written may differ from f16"]
    return [
        "a cache in eight bits is faster and half as large, but changes what is written: "
        "--lossy keeps it"
    ]


def _as_json(report: TuningReport, tuning: Tuning, kept: Path | None) -> dict[str, Any]:
    tried = [*report.findings, *([report.small_cache] if report.small_cache else [])]
    return {
        "tuning": asdict(tuning),
        "is_kept": kept is not None,
        "usual": asdict(report.usual.candidate),
        "best": asdict(report.best.candidate),
        "gain": report.verdict.gain,
        "noise": report.verdict.noise,
        "was_busy": report.was_busy,
        "text_tokens": report.text_tokens,
        "curve_before": report.usual.curve,
        "curve": report.best.curve,
        "tried": [asdict(finding) | {"is_better": finding.verdict.is_better} for finding in tried],
    }


def _undo(options: argparse.Namespace) -> str:
    from sssd_chat.text import one_line

    model = f" --model {one_line(options.model)}" if options.model is not None else ""
    return f"`sssd-chat tune{model} --forget`"


def _say(sentence: str) -> None:
    print(f"sssd-chat: {sentence}", file=sys.stderr)
