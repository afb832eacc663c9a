"""llama.cpp's own server, as a peer in measurements."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sssd_chat.bench.throughput import LLAMA_SERVER, AnswerTime, Task, ThroughputRun
from sssd_chat.errors import UserError, reason

_START_SECONDS = 120.0
_ANSWER_SECONDS = 600.0
_HOST = "127.0.0.1"


class LlamaServerPeer:
    """A running server. Made by `llama_server`."""

    def __init__(self, port: int, parallel: int) -> None:
        self._url = f"http://{_HOST}:{port}"
        self.parallel = parallel

    def run(self, tasks: Sequence[Task]) -> ThroughputRun:
        """Does all tasks greedily, some at a time. Raises UserError when the server fails."""
        started = time.perf_counter()
        with ThreadPoolExecutor(self.parallel) as clients:
            answers = tuple(clients.map(self._complete, tasks))
        seconds = time.perf_counter() - started
        return ThroughputRun(self.parallel, LLAMA_SERVER, seconds, answers)

    def _complete(self, task: Task) -> AnswerTime:
        body = {
            "prompt": list(task.prompt),
            "n_predict": task.max_tokens,
            "temperature": 0,
            "cache_prompt": False,
        }
        request = urllib.request.Request(
            f"{self._url}/completion",
            json.dumps(body).encode(),
            {"content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS) as reply:
                timings = json.load(reply)["timings"]
            return AnswerTime(
                int(timings["predicted_n"]),
                timings["prompt_ms"] / 1e3,
                timings["predicted_ms"] / 1e3,
            )
        except (OSError, ValueError, KeyError) as error:
            raise UserError(f"llama-server did not answer: {error}.") from error

    def is_ready(self) -> bool:
        """Whether it answers that all is well."""
        try:
            with urllib.request.urlopen(f"{self._url}/health", timeout=5):
                return True
        except OSError:
            return False


@contextlib.contextmanager
def llama_server(
    program: Path, model: Path, parallel: int, context_length: int, threads: int
) -> Iterator[LlamaServerPeer]:
    """Runs llama-server with places for `parallel` texts of `context_length` tokens each. Raises
    UserError when it does not start."""
    port = _free_port()
    command = [
        *(str(program), "--model", str(model), "--host", _HOST, "--port", str(port)),
        *("--parallel", str(parallel), "--ctx-size", str(context_length * parallel)),
        *("--threads", str(threads), "--threads-batch", str(threads)),
    ]
    try:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except OSError as error:
        raise UserError(f"{program} cannot be started: {reason(error, program)}.") from error
    try:
        peer = LlamaServerPeer(port, parallel)
        _wait_until_ready(peer, process, program)
        yield peer
    finally:
        process.kill()
        process.wait()


def _wait_until_ready(
    peer: LlamaServerPeer, process: subprocess.Popen[bytes], program: Path
) -> None:
    ends = time.monotonic() + _START_SECONDS
    while not peer.is_ready():
        if process.poll() is not None:
            raise UserError(f"{program} ended with code {process.returncode} before it was ready.")
        if time.monotonic() > ends:
            raise UserError(f"{program} was not ready within {_START_SECONDS:g} seconds.")
        time.sleep(0.2)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port: int = probe.getsockname()[1]
        return port
