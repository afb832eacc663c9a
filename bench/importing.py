"""How fast `sssd-chat import` is, and how much memory it takes: `python bench/importing.py [MB]`.

The text is the standard library of Python, its lines shuffled anew for each copy, in files of
64 MB and one part of small files. Everything happens in a temporary folder.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

_FILE_BYTES = 64_000_000
_SMALL_BYTES = 20_000
_SMALL_SHARE = 0.1
_SAMPLE_SECONDS = 0.05


@dataclass(slots=True)
class Peak:
    """The most memory that was seen, in bytes."""

    program: int = 0
    """Private memory of the program itself; pages of files that it maps do not count, since the
    system takes them back."""
    resident: int = 0
    """All that was in memory of the program, such pages included."""
    workers: int = 0
    """Private memory of the processes that read files, together."""


def main() -> None:
    """Writes the text, imports it twice, and prints the figures."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = _write(folder / "text", megabytes * 1_000_000)
        for run in ("first", "again"):
            _report(run, size, folder)


def _write(folder: Path, size: int) -> int:
    folder.mkdir()
    lines = [line for path in _sources() for line in _lines(path)]
    rng = random.Random(1)
    written = number = 0
    while written < size:
        is_small = written < size * _SMALL_SHARE
        most = min(_SMALL_BYTES if is_small else _FILE_BYTES, size - written)
        start = rng.randrange(len(lines))
        with (folder / f"{number:05}.txt").open("w", encoding="utf-8") as file:
            while most > 0:
                block = lines[start : start + rng.randrange(1, 400)]
                text = "".join(block)
                file.write(text)
                most -= len(text)
                written += len(text)
                start = rng.randrange(len(lines))
        number += 1
    return written


def _sources() -> Iterator[Path]:
    yield from sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)


def _report(run: str, size: int, folder: Path) -> None:
    words = [sys.executable, "-m", "sssd_chat", "import", str(folder / "text")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    used_before = before.ru_utime + before.ru_stime
    begun = time.monotonic()
    process = subprocess.Popen(
        [*words, "--collection", "bench", "--json"],
        stdout=subprocess.PIPE,
        env={**os.environ, "SSSD_CHAT_HOME": str(folder / "home")},
        text=True,
    )
    peak = Peak()
    watcher = threading.Thread(target=_watch, args=(process, peak))
    watcher.start()
    output, _ = process.communicate()
    seconds = time.monotonic() - begun
    watcher.join()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = used.ru_utime + used.ru_stime - used_before
    usage = json.loads(output)
    print(
        f"{run}: {size / 1e6:,.0f} MB in {seconds:.1f} s = {size / 1e6 / seconds:.2f} MB/s "
        f"({processor:.1f} s of processor time), "
        f"{usage['tokens']:,} tokens in the index, {usage['read']} files read, "
        f"{usage['unchanged']} unchanged; peak memory {peak.program / 1e6:,.0f} MB private "
        f"({peak.resident / 1e6:,.0f} MB resident), workers {peak.workers / 1e6:,.0f} MB",
        flush=True,
    )


def _watch(process: subprocess.Popen[str], peak: Peak) -> None:
    program = psutil.Process(process.pid)
    while process.poll() is None:
        try:
            memory = program.memory_info()
            peak.program = max(peak.program, memory.rss - memory.shared)
            peak.resident = max(peak.resident, memory.rss)
            infos = [child.memory_info() for child in program.children()]
            peak.workers = max(peak.workers, sum(info.rss - info.shared for info in infos))
        except psutil.Error:
            pass
        time.sleep(_SAMPLE_SECONDS)


if __name__ == "__main__":
    main()
