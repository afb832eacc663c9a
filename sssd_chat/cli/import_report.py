"""What `sssd-chat import` tells, while it runs and at its end."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from sssd_chat.cli.console import show_status
from sssd_chat.text import counted, one_line

if TYPE_CHECKING:
    from sssd_chat.conversation.corpus import ImportProgress, ImportReport

_REDRAW_SECONDS = 0.1
_BAR = 20
_SHOWN = 20
"""Files that are named one by one."""


class ProgressLine:
    """One line on stderr that says how far the import is."""

    def __init__(self, shown: bool) -> None:
        self._shown = shown
        self._next = 0.0

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            show_status("")

    def show(self, progress: ImportProgress) -> None:
        """Draws it anew, some times a second."""
        if self._shown and time.monotonic() >= self._next:
            self._next = time.monotonic() + _REDRAW_SECONDS
            show_status(progress_text(progress))


def progress_text(progress: ImportProgress) -> str:
    """How far an import is, on one line."""
    from sssd_chat.conversation.corpus import Stage

    if progress.stage is Stage.FINDING:
        return f"{progress.stage.value}: {progress.done:,}"
    full = round(progress.share * _BAR)
    bar = "█" * full + "░" * (_BAR - full)
    kind = "files" if progress.stage is Stage.READING else "documents"
    parts = [
        f"{progress.stage.value} {bar} {progress.share:4.0%}",
        f"{progress.done:,} of {progress.total:,} {kind}",
    ]
    if progress.tokens and progress.seconds:
        parts.append(f"{progress.tokens / progress.seconds:,.0f} tokens/s")
    if progress.seconds_left is not None:
        minutes, seconds = divmod(round(progress.seconds_left), 60)
        parts.append(f"{minutes}:{seconds:02} left")
    return " · ".join(parts)


def print_report(report: ImportReport, options: argparse.Namespace) -> int:
    """Prints the outcome; returns the exit code."""
    from sssd_chat.cli.main import INTERRUPTED

    if options.json:
        print(json.dumps(as_json(report, options.dry_run)))
    elif not options.quiet:
        _print_table(report, options.dry_run)
    for note in report.failed if options.quiet else report.failed[:_SHOWN]:
        _say(note.text)
    if not options.quiet:
        _tell_rest(report)
    if report.stopped:
        _say("stopped; what is done is kept, and importing again goes on.")
        return INTERRUPTED
    if report.failed:
        _say(f"{counted(len(report.failed), 'file')} could not be read.")
        return 1
    return 0


def as_json(report: ImportReport, dry_run: bool) -> dict[str, object]:
    """The object of `--json`."""
    result: dict[str, object] = {
        "collection": report.collection,
        "read": report.read,
        "new": len(report.new),
        "changed": len(report.changed),
        "unchanged": report.unchanged,
        "same_content": report.same,
        "removed": report.removed,
        "skipped": dict(report.skipped),
        "failed": [{"path": str(note.path), "reason": note.text} for note in report.failed],
        "notes": [{"path": str(note.path), "note": note.text} for note in report.notes],
        "documents": report.documents,
        "file_bytes": report.file_bytes,
        "text_bytes": report.text_bytes,
        "tokens": report.tokens,
        "seconds": report.seconds,
        "stopped": report.stopped,
    }
    if dry_run:
        result["files"] = [
            {"path": str(path), "status": status} for status, path in _previewed(report)
        ]
    return result


def _previewed(report: ImportReport) -> list[tuple[str, Path]]:
    found = [("new", path) for path in report.new] + [("changed", path) for path in report.changed]
    return sorted(found, key=lambda item: item[1])


def _print_table(report: ImportReport, dry_run: bool) -> None:
    if dry_run:
        for status, path in _previewed(report):
            print(f"{status:<8}  {one_line(str(path))}")
        if report.read:
            print()
    changed = f"{len(report.changed):,} of them changed" if report.changed else ""
    _row("to read" if dry_run else "read", report.read, changed)
    _row("not changed", report.unchanged)
    _row("same content", report.same, "as another file")
    _row("to remove" if dry_run else "removed", report.removed)
    why = ", ".join(f"{count:,} {reason}" for reason, count in report.skipped.most_common())
    _row("skipped", sum(report.skipped.values()), why)
    _row("failed", len(report.failed))
    if report.documents:
        _row("documents", report.documents, f"{size(report.text_bytes)} of text")
    _row("bytes", report.file_bytes, size(report.file_bytes))
    if report.tokens is not None:
        _row("tokens", report.tokens, f"in the collection {report.collection}")


def _row(label: str, count: int, remark: str = "") -> None:
    if count or label in ("read", "to read"):
        print(f"{label:<12}  {count:>13,}  {remark}".rstrip())


def _tell_rest(report: ImportReport) -> None:
    if len(report.failed) > _SHOWN:
        _say(f"and {len(report.failed) - _SHOWN:,} more that could not be read (--json has all).")
    for note in report.notes[:_SHOWN]:
        _say(f"{one_line(str(note.path))}: {note.text}.")
    if len(report.notes) > _SHOWN:
        _say(f"and {len(report.notes) - _SHOWN:,} more remarks (--json has all).")


def size(count: int) -> str:
    """A number of bytes for people."""
    for power, unit in ((3, "GB"), (2, "MB"), (1, "kB")):
        if count >= 1000**power:
            return f"{count / 1000**power:.3g} {unit}"
    return f"{count} bytes"


def _say(text: str) -> None:
    print(f"sssd-chat: {one_line(text)}", file=sys.stderr)
