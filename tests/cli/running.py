"""`sssd-chat` as a person or a script runs it, in a process of its own.

Starting Python and importing the program costs several times what most commands do. So a process
that has imported it waits, and each run is forked from it; nothing else is shared between runs.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import subprocess
import sys
import tempfile
from pathlib import Path

Result = subprocess.CompletedProcess[str]

_SECONDS = 60
"""What a run may take."""
_FORKING = Path(__file__).with_name("forking.py")


def run_fresh(*words: str, stdin: str | bytes | None = "", **options: object) -> Result:
    """Starts the program from nothing: for what depends on the start itself."""
    done = subprocess.run(
        [sys.executable, "-m", "sssd_chat", *words],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        timeout=_SECONDS,
        **options,  # type: ignore[arg-type]
    )
    return Result(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def run(*words: str, stdin: str | bytes | None = "", **options: object) -> Result:
    """The same, forked where nothing speaks against it: options of `subprocess.run`, and standard
    input that is that of the tests (None), need a start of their own."""
    if options or stdin is None or not hasattr(os, "fork"):
        return run_fresh(*words, stdin=stdin, **options)
    with tempfile.TemporaryDirectory() as folder:
        streams = [Path(folder) / name for name in ("stdin", "stdout", "stderr")]
        streams[0].write_bytes(stdin.encode() if isinstance(stdin, str) else stdin)
        code = _forking_process().run(list(words), streams)
        out, error = (stream.read_bytes().decode() for stream in streams[1:])
    return Result(words, code, out, error)


class _ForkingProcess:
    """The process that has the program imported."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(_FORKING)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def run(self, words: list[str], streams: list[Path]) -> int:
        """Runs the program with the arguments, in this process's environment and folder."""
        orders, answers = self._process.stdin, self._process.stdout
        assert orders is not None and answers is not None
        order = {
            "words": words,
            "streams": list(map(str, streams)),
            "folder": str(Path.cwd()),
            "environment": dict(os.environ),
        }
        orders.write(json.dumps(order).encode() + b"\n")
        orders.flush()
        if not select.select([answers], [], [], _SECONDS)[0]:
            _forking_process.cache_clear()
            os.killpg(self._process.pid, 9)
            raise subprocess.TimeoutExpired(words, _SECONDS)
        return int(answers.readline())

    def end(self) -> None:
        """Ends it, when no run is under way."""
        self._process.communicate()


@functools.cache
def _forking_process() -> _ForkingProcess:
    process = _ForkingProcess()
    atexit.register(process.end)
    return process
