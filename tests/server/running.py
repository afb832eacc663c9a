"""A real server process with a tiny model."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

PHASES = ("queued", "reading", "writing")
_READY = re.compile(r"served at (http://\S+/v1)")


@dataclass(frozen=True)
class RunningServer:
    process: subprocess.Popen[str]
    base_url: str
    model: str

    def client(self, **options: object) -> httpx.Client:
        # Reading the certificates of the world takes longer than an answer of a tiny model.
        return httpx.Client(  # type: ignore[arg-type]
            base_url=self.base_url, timeout=60, verify=False, **options
        )

    @property
    def root(self) -> str:
        return self.base_url.removesuffix("/v1")

    def figures(self, **options: object) -> dict[str, float]:
        """The figures for Prometheus, by name and labels."""
        with self.client(**options) as http:
            lines = http.get(f"{self.root}/metrics").text.splitlines()
        pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
        return {name: float(value) for name, _, value in pairs}

    def wait_until_idle(self, **options: object) -> dict[str, float]:
        """Waits until nothing is being answered; returns the figures then."""
        for _ in range(600):
            figures = self.figures(**options)
            busy = sum(figures[f'sssd_answers{{phase="{p}"}}'] for p in PHASES)
            if not busy and figures["sssd_requests_running"] == 1:
                return figures
            time.sleep(0.05)
        raise AssertionError(f"the server is still busy: {figures}")

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
