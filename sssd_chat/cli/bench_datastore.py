"""`sssd-chat bench datastore`."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from sssd_chat.bench.datastore import DatastoreReport, Searching, Times, measure
from sssd_chat.cli.console import print_table, show_status


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit code."""
    report = measure(options.tokens, options.segments, show_status)
    show_status("")
    if options.json:
        print(json.dumps(asdict(report)))
    else:
        _print(report)
    return 0


def _print(report: DatastoreReport) -> None:
    build, opening = report.build, report.opening
    rows = [
        ["sorting, M tokens/s", f"{build.sorting / 1e6:.2f}"],
        ["adding documents, M tokens/s", f"{build.adding / 1e6:.2f}"],
        ["adding and merging, M tokens/s", f"{build.overall / 1e6:.2f}"],
        ["opening, ms", f"{opening.ms:.1f}"],
        ["private memory of opening, MB", f"{opening.private_bytes / 1e6:.1f}"],
        ["compacting, s", f"{report.compact_seconds:.1f}"],
        *_size("grown", report.grown),
        *_size("compacted", report.compacted),
    ]
    print_table([f"{report.tokens:,} tokens", ""], rows)
    print()
    times = [
        ["adding an answer, ms", *_figures(report.answer_ms, ".2f")],
        *_searches("grown", report.grown),
        *_searches("compacted", report.compacted),
    ]
    print_table(["", "median", "p99", "longest"], times)


def _size(name: str, searching: Searching) -> list[list[str]]:
    return [
        [f"{name}: segments", str(searching.segments)],
        [f"{name}: bytes a token", f"{searching.bytes_per_token:.2f}"],
        [f"{name}: tokens of a context found", f"{searching.matched:.1f}"],
    ]


def _searches(name: str, searching: Searching) -> list[list[str]]:
    return [
        [f"{name}: a search of all lengths, µs", *_figures(searching.every_length_us, ".0f")],
        [f"{name}: a search of the drafter, µs", *_figures(searching.drafting_us, ".0f")],
    ]


def _figures(times: Times, form: str) -> list[str]:
    return [format(value, form) for value in (times.median, times.p99, times.longest)]
