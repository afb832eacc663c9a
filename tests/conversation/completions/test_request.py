"""Requests in OpenAI's form: what is read, and what is refused by the name of its field."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.conversation.completions.fields import parse_json
from sssd_chat.conversation.completions.refusal import RequestRefused
from sssd_chat.conversation.completions.request import Defaults, read_chat, read_completion
from sssd_chat.generation.engine import GenerationSettings
from sssd_chat.generation.sampling import SamplerSettings

DEFAULTS = Defaults(GenerationSettings(SamplerSettings(temperature=0.3, top_k=7), 50))

WHOLE: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": "c", "reasoning_content": "hm"},
        {"role": "tool", "content": "42", "tool_call_id": "x"},
    ],
    "temperature": 1,
    "top_p": 0.5,
    "min_p": 0.1,
    "top_k": 3,
    "seed": -1,
    "max_tokens": 9,
    "max_completion_tokens": 8,
    "n": 2,
    "stop": ["x", "y"],
    "frequency_penalty": 0.5,
    "presence_penalty": -0.5,
    "logprobs": True,
    "top_logprobs": 4,
    "logit_bias": {"5": -100, "6": 1.5},
    "response_format": {"type": "json_object"},
    "stream": True,
    "stream_options": {"include_usage": True},
    "chat_template_kwargs": {"enable_thinking": False},
    "user": "somebody",
    "tools": None,
}


def test_all_of_a_request_is_read() -> None:
    asked = read_chat(WHOLE, DEFAULTS)
    assert [m.role for m in asked.messages] == ["system", "user", "assistant", "tool"]
    assert asked.messages[1].content == "a\n\nb"
    assert asked.messages[2].thinking == "hm"
    assert asked.thinking is False
    wanted = asked.wanted
    assert (wanted.model, wanted.choices, wanted.logprobs) == ("m", 2, 4)
    assert wanted.stream and wanted.include_usage
    assert (wanted.generation.max_tokens, wanted.generation.stop) == (8, ("x", "y"))
    sampler = wanted.generation.sampler
    assert (sampler.temperature, sampler.top_p, sampler.min_p, sampler.top_k) == (1, 0.5, 0.1, 3)
    assert (sampler.frequency_penalty, sampler.presence_penalty, sampler.seed) == (0.5, -0.5, -1)
    assert sampler.logit_bias == ((5, -100.0), (6, 1.5))
    assert "root" in sampler.grammar


def test_what_a_request_leaves_out_is_as_the_server_was_started() -> None:
    wanted = read_chat({"messages": WHOLE["messages"]}, DEFAULTS).wanted
    assert wanted.generation == DEFAULTS.generation
    assert (wanted.choices, wanted.logprobs, wanted.stream) == (1, None, False)


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"messages": None}, "messages"),
        ({"messages": "text"}, "messages"),
        ({"messages": ["text"]}, "messages[0]"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [{"role": 1, "content": ""}]}, "messages[0].role"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
            "messages[0].content[0].text",
        ),
        (
            {"messages": [{"role": "assistant", "content": "", "tool_calls": [{}]}]},
            "messages[0].tool_calls",
        ),
        ({"temperature": True}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"top_p": 1.1}, "top_p"),
        ({"n": 1.5}, "n"),
        ({"n": 0}, "n"),
        ({"max_completion_tokens": 0}, "max_completion_tokens"),
        ({"seed": "1"}, "seed"),
        ({"stop": {"a": 1}}, "stop"),
        ({"stop": ["x"] * 17}, "stop"),
        ({"stream": "yes"}, "stream"),
        ({"stream": False}, "stream_options"),
        ({"logprobs": False}, "top_logprobs"),
        ({"top_logprobs": 21}, "top_logprobs"),
        ({"logit_bias": [1]}, "logit_bias"),
        ({"logit_bias": {"a": 1}}, "logit_bias"),
        ({"logit_bias": {"²": 1}}, "logit_bias"),
        ({"logit_bias": {"1": 101}}, "logit_bias.1"),
        ({"response_format": "json"}, "response_format"),
        ({"response_format": {"type": "xml"}}, "response_format.type"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema.schema"),
        (
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"schema": {"$ref": "https://example.org/schema"}},
                }
            },
            "response_format.json_schema.schema",
        ),
        ({"grammar": 'root ::= "a"'}, "grammar"),
        ({"functions": [{}]}, "functions"),
        ({"audio": {"voice": "x"}}, "audio"),
        ({"model": 3}, "model"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, object], param: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        read_chat({**WHOLE, **change}, DEFAULTS)
    assert refused.value.param == param
    assert refused.value.status == 400 and str(refused.value).endswith(".")


@pytest.mark.parametrize(
    ("prompt", "read"),
    [
        ("a", ("a",)),
        (["a", "b"], ("a", "b")),
        ([1, 2], ((1, 2),)),
        ([[1, 2], [3]], ((1, 2), (3,))),
    ],
)
def test_prompts_are_texts_or_tokens(prompt: object, read: object) -> None:
    assert read_completion({"prompt": prompt}, DEFAULTS).prompts == read


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"prompt": []},
        {"prompt": {}},
        {"prompt": [True, 1.5]},
        {"prompt": [[]]},
        {"prompt": "a", "best_of": 3},
        {"prompt": "a", "echo": True},
        {"prompt": "a", "suffix": "b"},
        {"prompt": ["a"] * 9},
    ],
)
def test_prompts_that_are_refused(body: object) -> None:
    with pytest.raises(RequestRefused):
        read_completion(body, DEFAULTS)


def places(value: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    inside: list[tuple[object, object]] = []
    if isinstance(value, dict):
        inside = list(value.items())
    elif isinstance(value, list):
        inside = list(enumerate(value))
    return [path, *(place for key, one in inside for place in places(one, (*path, key)))]


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.just([]),
    st.just({}),
    st.just([[]]),
)


@given(st.sampled_from(places(WHOLE)[1:]), ANYTHING)
def test_whatever_a_field_holds_it_is_read_or_refused(
    place: tuple[Any, ...], value: object
) -> None:
    body = copy.deepcopy(WHOLE)
    inner: Any = body
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    try:
        read_chat(body, DEFAULTS)
    except RequestRefused as refused:
        assert refused.message


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    try:
        parse_json(body)
    except RequestRefused as refused:
        assert refused.code == "invalid_json"
