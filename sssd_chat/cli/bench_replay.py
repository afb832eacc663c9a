"""`sssd-chat bench replay`."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from sssd_chat import paths
from sssd_chat.bench.calibration import Calibration
from sssd_chat.bench.cost import cost_table
from sssd_chat.bench.records import read_records
from sssd_chat.bench.replay import ReplayReport, replay
from sssd_chat.cli import options as shared
from sssd_chat.cli.console import figure, print_table
from sssd_chat.datastore.segment import Segment


def run(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit code."""
    records = read_records([Path(name) for name in options.records])
    report = replay(
        records,
        options.policy or ["plain", "sssd"],
        cost_table(options.cost, options.max_batch),
        growing=options.datastore == "growing",
        largest_batch=options.max_batch,
        earlier=_earlier(options),
    )
    if options.json:
        print(json.dumps(as_json(report, options.calibration)))
        return 0
    for name in report.policies:
        _print_policy(name, report)
        if options.calibration and name in report.calibration:
            _print_calibration(report.calibration[name])
    return 0


def _earlier(options: argparse.Namespace) -> list[Segment]:
    """What the datastore holds before the first question."""
    from sssd_chat.bench.earlier import own_segments, starter_segments
    from sssd_chat.llama.model import open_vocabulary

    if not options.starter and not options.own:
        return []
    model = shared.model_path(options, shared.load_settings())
    with open_vocabulary(model) as vocabulary:
        starter = starter_segments(vocabulary, options.starter)
        own = own_segments(vocabulary, paths.history_file(), options.own)
    for segment in (*starter, *own):
        print(f"sssd-chat: {segment.collection} {len(segment):,} tokens", file=sys.stderr)
    return starter + own


def as_json(report: ReplayReport, calibration: bool) -> dict[str, object]:
    """The object of `--json`."""
    result: dict[str, object] = {
        "policies": {
            name: {key: asdict(statistics) for key, statistics in sets.items()}
            for name, sets in report.policies.items()
        }
    }
    if calibration:
        result["calibration"] = {
            name: {
                "expected_error": table.expected_error(),
                "bins": [asdict(place) for place in table.bins],
            }
            for name, table in report.calibration.items()
        }
    return result


def _print_policy(name: str, report: ReplayReport) -> None:
    head = ["", "τ", "speed-up", "draft", "accepted", "µs", "p99 µs", "tokens", "steps"]
    rows = [
        [
            key,
            f"{s.tau:.2f}",
            f"{s.speedup:.2f}",
            f"{s.draft_size:.1f}",
            figure(s.acceptance, ".0%"),
            f"{s.draft_us_median:.0f}",
            f"{s.draft_us_p99:.0f}",
            str(s.tokens),
            str(s.steps),
        ]
        for key, s in report.policies[name].items()
    ]
    print(f"\n{name}")
    print_table(head, rows)


def _print_calibration(table: Calibration) -> None:
    print(f"expected calibration error {table.expected_error():.3f}")
    rows = [
        [
            f"{number / len(table.bins):.2f}",
            str(place.count),
            f"{place.predicted / place.count:.3f}",
            f"{place.accepted / place.count:.3f}",
        ]
        for number, place in enumerate(table.bins)
        if place.count
    ]
    print_table(["from", "nodes", "predicted", "accepted"], rows)
