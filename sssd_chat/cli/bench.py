"""`sssd-chat bench`: what drafting gains, on recordings and live."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from sssd_chat.cli import options as shared

POLICIES = ("plain", "prompt-lookup", "sssd-reference", "sssd")


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = argparse.ArgumentParser(
        prog="sssd-chat bench", description="Measures what drafting gains."
    )
    kinds = result.add_subparsers(dest="kind", required=True, metavar="KIND")
    _add_replay(kinds)
    _add_record(kinds)
    _add_live(kinds)
    return result


def _add_replay(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    replay = kinds.add_parser(
        "replay",
        help="run drafters over recorded answers, without a model",
        description="Runs drafters over recorded answers, without a model, and models the speed "
        "from a table of step costs.",
    )
    replay.add_argument("records", nargs="+", metavar="RECORDS", help="recordings (JSONL)")
    replay.add_argument(
        "--policy",
        action="append",
        metavar="NAME",
        help=f"{', '.join(POLICIES)}; sssd-reference:N drafts N tokens a step and "
        "sssd-reference:best the fastest N; may be given several times (default: plain and sssd)",
    )
    replay.add_argument(
        "--cost",
        default="flat",
        metavar="FILE|flat",
        help="JSON object from batch size to milliseconds, or `flat`: 1 + 0.004 n (default)",
    )
    replay.add_argument("--datastore", choices=("none", "growing"), default="none")
    replay.add_argument(
        "--max-batch", type=shared.whole(1, 512), default=32, metavar="N", help="default: 32"
    )
    replay.add_argument(
        "--calibration", action="store_true", help="reliability of the probabilities"
    )
    replay.add_argument("--json", action="store_true", help="print one object")


def _add_record(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    record = kinds.add_parser(
        "record",
        help="record a model's answers for replays",
        description="Records a model's answers, several conversations at once. A recording that "
        "was interrupted goes on where it stopped.",
    )
    shared.add_model_options(record)
    record.add_argument("--prompts", required=True, metavar="FILE", help="questions (JSONL)")
    record.add_argument("--out", required=True, metavar="FILE", help="recordings are added here")
    record.add_argument("--max-tokens", type=shared.whole(1), default=256, metavar="N")
    record.add_argument(
        "--parallel", type=shared.whole(1, 64), default=16, metavar="N", help="default: 16"
    )
    record.add_argument("--system", default="", metavar="TEXT", help="system prompt")
    record.add_argument("--before", default="", metavar="TEXT", help="in front of each question")
    record.add_argument("--limit", type=shared.whole(1), metavar="N", help="only N questions")


def _add_live(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    live = kinds.add_parser(
        "live",
        help="plain decoding, prompt lookup and sssd on a model, interleaved",
        description="Answers questions in several modes on the real model, interleaved, and "
        "compares speed and text.",
    )
    shared.add_model_options(live)
    live.add_argument("--prompts", required=True, metavar="FILE", help="questions (JSONL)")
    live.add_argument(
        "--mode",
        action="append",
        choices=("plain", "sssd", "llama-cpp-python", "prompt-lookup"),
        help="may be given several times (default: plain, sssd and prompt-lookup)",
    )
    live.add_argument("--max-tokens", type=shared.whole(2), default=256, metavar="N")
    live.add_argument("--limit", type=shared.whole(1), metavar="N", help="only N questions")
    live.add_argument("--before", default="", metavar="TEXT", help="in front of each question")
    live.add_argument("--system", default="", metavar="TEXT", help="system prompt")
    live.add_argument(
        "--lookup-tokens",
        type=shared.whole(1, 64),
        default=10,
        metavar="N",
        help="length of the drafts of prompt-lookup (default: 10)",
    )
    live.add_argument("--json", action="store_true", help="print one object")


def run(arguments: Sequence[str]) -> int:
    """Runs the command and returns the exit code."""
    options = parser().parse_args(arguments)
    if options.kind == "replay":
        from sssd_chat.cli import bench_replay

        return bench_replay.run(options)
    from sssd_chat.cli import bench_live
    from sssd_chat.logs import start_logging

    start_logging()
    return bench_live.record(options) if options.kind == "record" else bench_live.live(options)
