"""Clients that go away or read slowly, and a server that is told to stop."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import threading
from pathlib import Path

import httpx
import pytest

from tests.server.running import RunningServer, serving


def chat(tokens: int, **options: object) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": "go on"}], "max_tokens": tokens, **options}


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_goes_away_frees_its_place(server: RunningServer, stream: bool) -> None:
    server.wait_until_idle()
    before = server.figures()
    with socket.create_connection(("127.0.0.1", port_of(server))) as client:
        client.sendall(raw_request(chat(400, stream=stream, n=8)))
        wait_until_writing(server, before["sssd_finished_answers_total"])
    after = server.wait_until_idle()
    assert after['sssd_kv_cells_used{by="live"}'] == 0
    emitted = after["sssd_tokens_emitted_total"] - before["sssd_tokens_emitted_total"]
    assert emitted < 8 * 400


def test_a_slow_reader_holds_up_nobody(server: RunningServer) -> None:
    with socket.create_connection(("127.0.0.1", port_of(server))) as client:
        client.sendall(raw_request(chat(300, stream=True, logprobs=True, top_logprobs=20)))
        with server.client() as http:
            for _ in range(3):
                assert http.post("/chat/completions", json=chat(20)).status_code == 200
        # It reads after all, and has lost nothing.
        received = b""
        while b"data: [DONE]" not in received:
            received += client.recv(1 << 16)
    events = [line[6:] for line in received.splitlines() if line.startswith(b"data: {")]
    choices = [json.loads(event)["choices"][0] for event in events]
    assert sum(len(c["logprobs"]["content"]) for c in choices if c["logprobs"]) == 300


def port_of(server: RunningServer) -> int:
    port = httpx.URL(server.base_url).port
    assert port is not None
    return port


def raw_request(body: object) -> bytes:
    content = json.dumps(body).encode()
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n"
        f"content-length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def test_told_to_stop_it_lets_answers_come_to_their_end(
    endless_model: Path, tmp_path: Path
) -> None:
    with serving(endless_model, tmp_path, "--ctx", "2048", "--grace", "60") as running:
        replies: list[httpx.Response] = []
        asking = start(lambda: replies.append(ask(running, chat(600))))
        wait_until_writing(running)
        assert running.stop(signal.SIGTERM) == 0
        asking.join()
        assert replies[0].json()["usage"]["completion_tokens"] == 600
        with pytest.raises(httpx.ConnectError):
            ask(running, chat(1))


def test_answers_that_take_too_long_are_given_up(endless_model: Path, tmp_path: Path) -> None:
    with serving(endless_model, tmp_path, "--ctx", "4096", "--grace", "0") as running:
        replies: list[httpx.Response] = []
        whole = start(lambda: replies.append(ask(running, chat(4000))))
        streamed = start(lambda: replies.append(ask(running, chat(4000, stream=True))))
        while running.figures()['sssd_answers{phase="writing"}'] < 2:
            pass
        assert running.stop() == 0
        whole.join()
        streamed.join()
    codes = sorted(reply.status_code for reply in replies)
    assert codes == [200, 503]
    for reply in replies:
        assert '"shutting_down"' in reply.text


def test_a_second_signal_ends_it_at_once(endless_model: Path, tmp_path: Path) -> None:
    with serving(endless_model, tmp_path, "--ctx", "4096", "--grace", "3600") as running:
        asking = start(lambda: ignoring_errors(lambda: ask(running, chat(4000, n=4))))
        wait_until_writing(running)
        running.process.send_signal(signal.SIGINT)
        with pytest.raises(httpx.TransportError):
            while True:
                running.figures()
        assert running.stop(signal.SIGINT) == 130
        asking.join()


def ask(server: RunningServer, body: object) -> httpx.Response:
    with server.client() as http:
        return http.post("/chat/completions", json=body)


def start(work: object) -> threading.Thread:
    thread = threading.Thread(target=work)  # type: ignore[arg-type]
    thread.start()
    return thread


def ignoring_errors(work: object) -> None:
    with contextlib.suppress(httpx.HTTPError):
        work()  # type: ignore[operator]


def wait_until_writing(server: RunningServer, finished_before: float = 0) -> None:
    """Returns, too, when an answer was faster than the look at it."""
    while True:
        figures = server.figures()
        if (
            figures['sssd_answers{phase="writing"}']
            or figures["sssd_finished_answers_total"] > finished_before
        ):
            return
