"""`sssd-chat bench`: what drafting gains, on recordings and live."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from sssd_chat.cli import options as shared

_ALL = 2**62
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
    _add_turn(kinds)
    _add_throughput(kinds)
    _add_datastore(kinds)
    _add_screen(kinds)
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
        "--starter",
        type=shared.whole(0),
        nargs="?",
        const=_ALL,
        default=0,
        metavar="N",
        help="begin with the starter collections in the datastore, or N tokens of them",
    )
    replay.add_argument(
        "--own",
        type=shared.whole(0),
        default=0,
        metavar="N",
        help="begin with the last N tokens of the answers in your history",
    )
    replay.add_argument(
        "--model",
        metavar="NAME|PATH",
        help="the model that was recorded, whose vocabulary --starter and --own need",
    )
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


def _add_turn(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    turn = kinds.add_parser(
        "turn",
        help="time to the first token in a long chat against an empty one",
        description="Times how long the first token of an answer takes in a long chat, in an empty "
        "one, and when the message was read while it was typed; interleaved, with the same text.",
    )
    shared.add_model_options(turn)
    turn.add_argument("--chat-tokens", type=shared.whole(16), default=3000, metavar="N")
    turn.add_argument("--message-tokens", type=shared.whole(1), default=60, metavar="N")
    turn.add_argument("--repeats", type=shared.whole(1), default=6, metavar="N")
    turn.add_argument("--json", action="store_true", help="print one object")


def _add_throughput(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from sssd_chat.cli.bench_throughput import parallel_list

    throughput = kinds.add_parser(
        "throughput",
        help="tokens a second for many at once, with drafts and without",
        description="Answers the same questions with drafts and without, several at once, the two "
        "taking turns every half a second, and compares the speeds.",
    )
    shared.add_model_options(throughput)
    throughput.add_argument("--prompts", required=True, metavar="FILE", help="questions (JSONL)")
    throughput.add_argument(
        "--parallel",
        type=parallel_list,
        default=[1, 2, 4, 8, 16, 32, 64],
        metavar="N,N,…",
        help="questions at once (default: 1,2,4,8,16,32,64)",
    )
    throughput.add_argument(
        "--max-tokens",
        type=shared.whole(4),
        default=64,
        metavar="N",
        help="limits of the answers, on average: they differ from N/2 to 3N/2 (default: 64)",
    )
    throughput.add_argument(
        "--least",
        type=shared.whole(1),
        default=8,
        metavar="N",
        help="questions of a run, unless twice as many are asked at once (default: 8)",
    )
    throughput.add_argument(
        "--rounds",
        type=shared.whole(1),
        default=2,
        metavar="N",
        help="runs of each mode (default: 2)",
    )
    throughput.add_argument("--limit", type=shared.whole(1), metavar="N", help="only N questions")
    throughput.add_argument("--before", default="", metavar="TEXT", help="before each question")
    throughput.add_argument(
        "--llama-server",
        type=shared.path,
        metavar="PATH",
        help="compare with this llama-server, too",
    )
    throughput.add_argument("--json", action="store_true", help="print one object")


def _add_datastore(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    datastore = kinds.add_parser(
        "datastore",
        help="build, search and open a datastore of made-up text, without a model",
        description="Builds a datastore of made-up text in a temporary folder and measures how "
        "fast it is built, grows, is searched and is opened, and what it takes on the disk.",
    )
    datastore.add_argument(
        "--tokens", type=shared.whole(1000), default=10_000_000, metavar="N", help="default: 10 M"
    )
    datastore.add_argument(
        "--segments",
        type=shared.whole(1, 100),
        default=1,
        metavar="K",
        help="spread the text over K collections, whose segments are never merged (default: 1)",
    )
    datastore.add_argument("--json", action="store_true", help="print one object")


def _add_screen(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    screen = kinds.add_parser(
        "screen",
        help="what the chat's screen costs: echo of typing, processor time, engine speed",
        description="Runs the chat in a pseudo-terminal. A text streams at 300 tokens/s while keys "
        "are pressed; then the model answers with the screen around it and without one, in turn.",
    )
    shared.add_model_options(screen)
    screen.add_argument(
        "--tokens", type=shared.whole(100), default=2000, metavar="N", help="default: 2000"
    )
    screen.add_argument("--max-tokens", type=shared.whole(16), default=256, metavar="N")
    screen.add_argument(
        "--repeats",
        type=shared.whole(0),
        default=3,
        metavar="N",
        help="answers of the model with and without the screen; 0 needs no model (default: 3)",
    )
    screen.add_argument("--json", action="store_true", help="print one object")


def run(arguments: Sequence[str]) -> int:
    """Runs the command and returns the exit code."""
    options = parser().parse_args(arguments)
    from sssd_chat.logs import start_logging

    if options.kind == "replay":
        from sssd_chat.cli import bench_replay

        return bench_replay.run(options)
    if options.kind == "datastore":
        from sssd_chat.cli import bench_datastore

        return bench_datastore.run(options)
    if options.kind == "screen":
        from sssd_chat.cli import bench_screen

        return bench_screen.screen(options)
    if options.kind == "turn":
        from sssd_chat.cli import bench_turn

        start_logging()
        return bench_turn.turn(options)
    if options.kind == "throughput":
        from sssd_chat.cli import bench_throughput

        start_logging()
        return bench_throughput.throughput(options)
    from sssd_chat.cli import bench_live

    start_logging()
    return bench_live.record(options) if options.kind == "record" else bench_live.live(options)
