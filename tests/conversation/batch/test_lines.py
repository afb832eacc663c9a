"""Lines of requests, in both forms."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.conversation.batch.lines import Line, LineId, read_lines, read_request
from sssd_chat.conversation.completions.refusal import RequestRefused
from sssd_chat.conversation.completions.request import ChatRequest, CompletionRequest, Defaults
from sssd_chat.generation.engine import GenerationSettings

DEFAULTS = Defaults(GenerationSettings(max_tokens=9), system="Be short.")


def line_of(value: object) -> Line:
    return Line(LineId(1, "x"), json.dumps(value).encode())


def test_a_line_of_a_batch_file() -> None:
    body = {"model": "any", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 3}
    request = read_request(
        line_of(
            {
                "custom_id": "one",
                "method": "POST",
                "url": "/v1/chat/completions",
                "body": body,
            }
        ),
        DEFAULTS,
    )
    assert isinstance(request.asked, ChatRequest) and not request.is_plain
    assert request.custom_id == "one"
    assert [message.content for message in request.asked.messages] == ["Be short.", "hi"]
    assert request.asked.wanted.generation.max_tokens == 3
    text = read_request(line_of({"url": "/v1/completions", "body": {"prompt": "a"}}), DEFAULTS)
    assert isinstance(text.asked, CompletionRequest)
    assert text.asked.prompts == ("a",)


def test_plain_lines() -> None:
    prompt = read_request(line_of({"prompt": "hi", "temperature": 0.5}), DEFAULTS)
    messages = read_request(
        line_of({"messages": [{"role": "user", "content": "hi"}], "custom_id": "b"}), DEFAULTS
    )
    assert isinstance(prompt.asked, ChatRequest) and isinstance(messages.asked, ChatRequest)
    assert prompt.asked.messages == messages.asked.messages
    assert prompt.is_plain and messages.is_plain and messages.custom_id == "b"
    assert prompt.asked.wanted.generation.sampler.temperature == 0.5
    assert prompt.asked.wanted.generation.max_tokens == 9


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        "text",
        {"prompt": 1},
        {"prompt": None},
        {"url": "/v1/embeddings", "body": {}},
        {"url": "/v1/completions", "method": "GET", "body": {"prompt": "a"}},
        {"url": "/v1/completions", "body": None},
        {"url": "/v1/completions", "body": {"prompt": "a", "stream": True}},
        {"messages": [{"role": "user", "content": {"a": 1}}]},
    ],
)
def test_lines_that_cannot_be_read(value: object) -> None:
    with pytest.raises(RequestRefused):
        read_request(line_of(value), DEFAULTS)


@given(st.lists(st.binary(max_size=12)))
def test_every_line_with_something_in_it_is_found_once(lines: list[bytes]) -> None:
    content = b"\n".join(lines)
    found = list(read_lines(io.BytesIO(content)))
    expected = [
        (number, line.strip())
        for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1)
        if line.strip()
    ]
    assert [(line.id.number, line.content) for line in found] == expected
    same = {(line.content, line.id.digest) for line in found}
    assert len({digest for _, digest in same}) == len({text for text, _ in same})


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "prompt",
                        "messages",
                        "body",
                        "url",
                        "content",
                        "role",
                        "n",
                        "stop",
                        "logit_bias",
                        "temperature",
                        "custom_id",
                        "response_format",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_whatever_a_line_holds_it_is_read_or_refused(value: object) -> None:
    line = Line(LineId(1, "x"), json.dumps(value).encode())
    try:
        read_request(line, DEFAULTS)
    except RequestRefused as refused:
        assert refused.message
