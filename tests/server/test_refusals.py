"""What the server does not take, in OpenAI's form; over plain HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.server.running import RunningServer, serving

CHAT = {"messages": [{"role": "user", "content": "a"}], "max_tokens": 2}


@pytest.fixture
def http(server: RunningServer) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


def error_of(reply: httpx.Response) -> dict[str, object]:
    error = reply.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"].endswith(".")
    return dict(error)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[1]", b'{"messages": NaN}', b"\xff\xfe", b"[" * 100_000, b'"\\ud800"']
)
def test_a_body_that_is_no_json_object(http: httpx.Client, body: bytes) -> None:
    reply = http.post("/chat/completions", content=body)
    assert reply.status_code == 400
    assert error_of(reply)["type"] == "invalid_request_error"


def test_a_body_that_is_too_large(http: httpx.Client) -> None:
    reply = http.post("/chat/completions", content=b"x" * 5_000_000)
    assert reply.status_code == 413
    assert error_of(reply)["code"] == "too_large"

    def chunks() -> Iterator[bytes]:
        for _ in range(50):
            yield b"x" * 100_000

    assert http.post("/chat/completions", content=chunks()).status_code == 413
    assert http.post("/chat/completions", json=CHAT).status_code == 200


def test_unknown_places_and_methods(http: httpx.Client, server: RunningServer) -> None:
    missing = http.get(f"{server.root}/nowhere")
    assert (missing.status_code, error_of(missing)["code"]) == (404, "unknown_url")
    wrong = http.get("/chat/completions")
    assert (wrong.status_code, error_of(wrong)["code"]) == (405, "method_not_allowed")
    assert wrong.headers["allow"] == "POST"


def test_web_pages_may_not_ask(http: httpx.Client) -> None:
    page = http.post("/chat/completions", json=CHAT, headers={"origin": "https://example.org"})
    assert (page.status_code, error_of(page)["code"]) == (403, "origin_not_allowed")
    renamed = http.post("/chat/completions", json=CHAT, headers={"host": "example.org:80"})
    assert (renamed.status_code, error_of(renamed)["code"]) == (403, "host_not_allowed")
    assert http.post("/chat/completions", json=CHAT).status_code == 200


def test_figures_and_health(http: httpx.Client, server: RunningServer) -> None:
    assert http.get(f"{server.root}/health").json() == {"status": "ok"}
    http.post("/chat/completions", json=CHAT)
    text = http.get(f"{server.root}/metrics").text
    assert 'sssd_requests_total{path="/v1/chat/completions",status="200"}' in text
    assert "sssd_tokens_emitted_total" in text
    assert 'sssd_answers{phase="queued"} 0.0' in text


def test_keys_and_the_queue(chat_model: Path, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("# who may ask\nann:secret-of-ann learn\nsecret-of-nobody\n")
    options = ("--api-keys", str(keys), "--parallel", "1", "--queue", "1", "--ctx", "256")
    with (
        serving(chat_model, tmp_path / "home", *options, "--cors", "https://page.org") as running,
        running.client() as http,
    ):
        for headers in (
            {},
            {"authorization": "Bearer wrong"},
            {"authorization": "Basic secret-of-ann"},
            {"authorization": "Bearer ann:secret-of-ann"},
        ):
            refused = http.post("/chat/completions", json=CHAT, headers=headers)
            assert refused.status_code == 401
            assert error_of(refused)["code"] == "invalid_api_key"
            assert refused.headers["www-authenticate"] == "Bearer"
        assert http.get("/models").status_code == 401
        assert http.get(f"{running.root}/metrics").status_code == 401
        assert http.get(f"{running.root}/health").status_code == 200
        for key in ("secret-of-ann", "secret-of-nobody"):
            headers = {"authorization": f"Bearer {key}", "origin": "https://page.org"}
            reply = http.post("/chat/completions", json=CHAT, headers=headers)
            assert reply.status_code == 200
            assert reply.headers["access-control-allow-origin"] == "https://page.org"
        full = http.post(
            "/chat/completions", json=CHAT | {"n": 3}, headers={"authorization": f"Bearer {key}"}
        )
        assert (full.status_code, error_of(full)["code"]) == (429, "queue_full")
        assert int(full.headers["retry-after"]) > 0


def schema(value: object) -> dict[str, object]:
    described = {"name": "x", "schema": value}
    return {"response_format": {"type": "json_schema", "json_schema": described}}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"logit_bias": {"9" * 5000: 1}}, "logit_bias"),
        (schema({"type": "array", "items": {}, "maxItems": 10**9}), "response_format"),
        (schema({"type": "string", "pattern": "^a{1000000000}$"}), "response_format"),
        ({"grammar": "root ::= " + "(" * 60_000 + "a" + ")" * 60_000}, "grammar"),
        ({"grammar": 'root ::= "' + "a" * 90_000 + '"{2000}'}, "grammar"),
        ({"messages": [{"role": "user", "content": "a"}] * 60_000}, "messages"),
        ({"stop": ["a"] * 10_000}, "stop"),
        ({"model": "m" * 1_000_000}, "model"),
        ({"n": 10**30}, "n"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
    ],
)
def test_what_would_take_the_server_with_it_is_refused_at_once(
    http: httpx.Client, fields: dict[str, object], param: str
) -> None:
    """In a short sentence, and the next one is answered."""
    reply = http.post("/chat/completions", json={**CHAT, **fields})
    assert reply.status_code in (400, 404)
    error = error_of(reply)
    assert str(error["param"]).startswith(param)
    assert len(str(error["message"])) < 500
    assert http.post("/chat/completions", json=CHAT).status_code == 200


@pytest.mark.parametrize("wrong", ["x", -1, 0.5, 10**30, True, [1], {"a": 1}, "", [None], [[]]])
def test_no_field_of_a_wrong_type_is_an_error_inside(http: httpx.Client, wrong: object) -> None:
    names = ("messages", "model", "max_tokens", "max_completion_tokens", "stream_options", "n")
    names += ("stop", "seed", "temperature", "top_p", "top_k", "min_p", "frequency_penalty")
    names += ("presence_penalty", "logit_bias", "logprobs", "top_logprobs", "response_format")
    names += ("grammar", "chat_template_kwargs", "tools", "prompt", "best_of", "echo", "suffix")
    for name in names:
        for path, usual in (("chat/completions", CHAT), ("completions", {"prompt": "a"})):
            reply = http.post(path, json={**usual, "max_tokens": 2, name: wrong})
            assert reply.status_code in (200, 400, 404), (name, reply.text)
            if reply.status_code != 200:
                error_of(reply)
