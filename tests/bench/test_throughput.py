"""Throughput: figures from runs, and a llama-server is spoken to."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from sssd_chat.bench.llama_server import llama_server
from sssd_chat.bench.throughput import AnswerTime, Task, ThroughputRun, tasks_for, together
from sssd_chat.errors import UserError

PROMPTS = [[1, *range(260, 270 + number)] for number in range(5)]

FAKE_SERVER = f"""#!{sys.executable}
import http.server, json, sys
port = int(sys.argv[sys.argv.index("--port") + 1])
assert "--parallel" in sys.argv and "--ctx-size" in sys.argv
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.reply({{"status": "ok"}})
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        n = body["n_predict"]
        assert self.path == "/completion" and body["prompt"] and body["temperature"] == 0
        self.reply({{"timings": {{"predicted_n": n, "prompt_ms": 20, "predicted_ms": 10.0 * n}}}})
    def reply(self, value):
        content = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


def test_runs_are_taken_together() -> None:
    runs = [
        ThroughputRun(2, "x", 2.0, (AnswerTime(11, 0.5, 1.0), AnswerTime(1, 0.1, 0.0))),
        ThroughputRun(2, "x", 1.0, (AnswerTime(21, 0.3, 3.0),)),
    ]
    figures = together(runs)
    assert figures.tokens_per_second == 11.0
    assert figures.milliseconds_per_token == pytest.approx(4e3 / 30)
    assert figures.first_token_seconds == pytest.approx(0.3)
    assert figures.tokens_per_step is None


@pytest.mark.parametrize(("parallel", "least", "count"), [(1, 8, 8), (8, 4, 16), (2, 1, 4)])
def test_all_places_are_kept_busy(parallel: int, least: int, count: int) -> None:
    tasks = tasks_for(PROMPTS, parallel, least, 10)
    assert len(tasks) == count
    assert [list(task.prompt) for task in tasks[:5]] == PROMPTS[:count]


def test_the_limits_differ_and_have_their_mean() -> None:
    limits = [task.max_tokens for task in tasks_for(PROMPTS, 1, 300, 64)]
    assert min(limits) == 32 and max(limits) == 96
    assert sum(limits) / len(limits) == pytest.approx(64, abs=0.5)
    # Also of few: those that begin together end at different times.
    for first in range(0, 296, 4):
        assert len(set(limits[first : first + 4])) == 4


def test_a_llama_server_is_a_peer(tmp_path: Path) -> None:
    program = tmp_path / "llama-server"
    program.write_text(FAKE_SERVER)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    with llama_server(program, tmp_path / "m.gguf", 4, 128, 1) as peer:
        run = peer.run([Task((1, 2), 10)] * 5)
    assert run.answers == (AnswerTime(10, 0.02, 0.1),) * 5
    with pytest.raises(UserError, match="did not answer"):
        peer.run([Task((1, 2), 10)])


def test_a_program_that_is_no_server(tmp_path: Path) -> None:
    with (
        pytest.raises(UserError, match="ended with code"),
        llama_server(Path("/bin/false"), tmp_path, 1, 128, 1),
    ):
        pass
    with (
        pytest.raises(UserError, match="cannot be started"),
        llama_server(tmp_path / "missing", tmp_path, 1, 128, 1),
    ):
        pass
