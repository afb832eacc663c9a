"""A real server process with a tiny model."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

_READY = re.compile(r"served at (http://\S+/v1)")


@dataclass(frozen=True)
class RunningServer:
    process: subprocess.Popen[str]
    base_url: str
    model: str

    def client(self, **options: object) -> httpx.Client:
        return httpx.Client(base_url=self.base_url, timeout=60, **options)  # type: ignore[arg-type]

    @property
    def root(self) -> str:
        return self.base_url.removesuffix("/v1")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(60)


@contextlib.contextmanager
def serving(model: Path, home: Path, *options: str) -> Iterator[RunningServer]:
    """`sssd-chat serve` until the end of the block, on a free port."""
    command = [
        *(sys.executable, "-m", "sssd_chat"),
        *("serve", "--model", str(model), "--port", "0", "--threads", "1", "--no-starter"),
        *options,
    ]
    process = subprocess.Popen(
        command,
        env={**os.environ, "SSSD_CHAT_HOME": str(home)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        said = []
        assert process.stderr is not None
        for line in process.stderr:
            said.append(line)
            if found := _READY.search(line):
                yield RunningServer(process, found[1], model.stem)
                return
        raise AssertionError(f"the server did not start: {''.join(said)}")
    finally:
        process.kill()
        process.communicate()
