"""The official client against a real server."""

from __future__ import annotations

import json

import openai
import pytest

from tests.server.running import RunningServer

QUESTION = [{"role": "user", "content": "say the thing again and again"}]


@pytest.fixture(scope="module")
def client(server: RunningServer) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0)


def test_a_chat_is_answered_whole_and_streamed_alike(
    client: openai.OpenAI, server: RunningServer
) -> None:
    whole = client.chat.completions.create(model=server.model, messages=QUESTION, max_tokens=24)
    chunks = list(
        client.chat.completions.create(
            model=server.model,
            messages=QUESTION,
            max_tokens=24,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    said = whole.choices[0].message.content
    assert said
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == said
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-2].choices[0].finish_reason == whole.choices[0].finish_reason == "length"
    assert chunks[-1].usage is not None and whole.usage is not None
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens == 24
    assert len({chunk.id for chunk in chunks}) == 1


def test_usage_tells_what_became_of_drafts(client: openai.OpenAI, server: RunningServer) -> None:
    usage = client.chat.completions.create(
        model=server.model, messages=QUESTION, max_tokens=200
    ).usage
    assert usage is not None and usage.completion_tokens_details is not None
    details = usage.completion_tokens_details
    assert details.accepted_prediction_tokens is not None
    assert details.rejected_prediction_tokens is not None
    assert 0 <= details.accepted_prediction_tokens < usage.completion_tokens
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens


def test_a_text_is_continued(client: openai.OpenAI, server: RunningServer) -> None:
    done = client.completions.create(
        model=server.model, prompt=["the the the", "and"], max_tokens=8, logprobs=2
    )
    assert [choice.index for choice in done.choices] == [0, 1]
    for choice in done.choices:
        assert choice.logprobs is not None and choice.logprobs.tokens is not None
        assert "".join(choice.logprobs.tokens) == choice.text
        offsets = choice.logprobs.text_offset
        assert offsets == [
            len("".join(choice.logprobs.tokens[:n])) for n in range(len(choice.logprobs.tokens))
        ]
    streamed = client.completions.create(
        model=server.model, prompt="the the the", max_tokens=8, stream=True
    )
    assert "".join(chunk.choices[0].text for chunk in streamed) == done.choices[0].text


def test_log_probabilities_come_with_each_token(
    client: openai.OpenAI, server: RunningServer
) -> None:
    def ask(**options: object) -> object:
        return client.chat.completions.create(
            model=server.model,
            messages=QUESTION,
            max_tokens=6,
            logprobs=True,
            top_logprobs=3,
            **options,  # type: ignore[call-overload]
        )

    choice = ask().choices[0]
    tokens = choice.logprobs.content
    assert len(tokens) == 6
    for token in tokens:
        assert len(token.top_logprobs) == 3
        # At temperature 0 the likeliest token is taken.
        assert token.logprob == token.top_logprobs[0].logprob <= 0
        assert token.bytes == token.top_logprobs[0].bytes
    written = b"".join(bytes(token.bytes) for token in tokens)
    assert written.decode("utf-8", "replace").startswith(choice.message.content.rstrip("\ufffd"))
    streamed = [
        token
        for chunk in ask(stream=True)
        if chunk.choices and chunk.choices[0].logprobs
        for token in chunk.choices[0].logprobs.content
    ]
    assert [token.bytes for token in streamed] == [token.bytes for token in tokens]


def test_several_answers_to_one_question(client: openai.OpenAI, server: RunningServer) -> None:
    def ask(seed: int) -> list[str | None]:
        done = client.chat.completions.create(
            model=server.model,
            messages=QUESTION,
            max_tokens=12,
            n=3,
            temperature=1.5,
            seed=seed,
        )
        assert [choice.index for choice in done.choices] == [0, 1, 2]
        assert done.usage is not None and done.usage.completion_tokens == 36
        return [choice.message.content for choice in done.choices]

    assert len(set(ask(7))) > 1
    assert set(ask(7)) & set(ask(7))
    streamed = client.chat.completions.create(
        model=server.model, messages=QUESTION, max_tokens=12, n=3, stream=True
    )
    assert {chunk.choices[0].index for chunk in streamed} == {0, 1, 2}


def test_a_stop_string_is_not_part_of_the_answer(
    client: openai.OpenAI, server: RunningServer
) -> None:
    def ask(stop: list[str] | None) -> tuple[str, str]:
        choice = client.chat.completions.create(
            model=server.model, messages=QUESTION, max_tokens=40, stop=stop
        ).choices[0]
        return choice.message.content or "", choice.finish_reason

    whole, _ = ask(None)
    stop = whole[10:13]
    assert ask([stop, "never to be seen"]) == (whole[: whole.index(stop)], "stop")


def test_a_bias_forbids_and_forces_tokens(client: openai.OpenAI, server: RunningServer) -> None:
    forced = client.chat.completions.create(
        model=server.model, messages=QUESTION, max_tokens=5, logit_bias={"280": 100}, logprobs=True
    ).choices[0]
    assert forced.logprobs is not None and forced.logprobs.content is not None
    assert len({tuple(token.bytes or []) for token in forced.logprobs.content}) == 1


def test_an_answer_follows_a_schema(client: openai.OpenAI, server: RunningServer) -> None:
    schema = {
        "type": "object",
        "properties": {"name": {"enum": ["ann", "bob"]}, "old": {"type": "boolean"}},
        "required": ["name", "old"],
        "additionalProperties": False,
    }
    done = client.chat.completions.create(
        model=server.model,
        messages=QUESTION,
        max_tokens=200,
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "person", "schema": schema, "strict": True},
        },
    ).choices[0]
    answer = json.loads(done.message.content or "")
    assert set(answer) == {"name", "old"}
    assert answer["name"] in ("ann", "bob") and isinstance(answer["old"], bool)
    assert done.finish_reason == "stop"


def test_models_are_listed(client: openai.OpenAI, server: RunningServer) -> None:
    assert [model.id for model in client.models.list()] == [server.model]
    assert client.models.retrieve(server.model).object == "model"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt-4o")


@pytest.mark.parametrize(
    ("options", "kind", "param", "code"),
    [
        ({"model": "gpt-4o"}, openai.NotFoundError, "model", "model_not_found"),
        ({"temperature": "hot"}, openai.BadRequestError, "temperature", "invalid_type"),
        ({"temperature": 3}, openai.BadRequestError, "temperature", "invalid_value"),
        ({"n": 1000}, openai.BadRequestError, "n", "invalid_value"),
        ({"stop": ["a", 1]}, openai.BadRequestError, "stop[1]", "invalid_type"),
        ({"messages": []}, openai.BadRequestError, "messages", "invalid_value"),
        (
            {"messages": [{"role": "user", "content": "a " * 2000}]},
            openai.BadRequestError,
            "messages",
            "context_length_exceeded",
        ),
        (
            {"messages": [{"role": "nobody", "content": "a"}]},
            openai.BadRequestError,
            "messages[0].role",
            "invalid_value",
        ),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "image_url", "image_url": {"url": "data:x"}}],
                    }
                ]
            },
            openai.BadRequestError,
            "messages[0].content[0].type",
            "unsupported_content",
        ),
        (
            {"tools": [{"type": "function", "function": {"name": "f"}}]},
            openai.BadRequestError,
            "tools",
            "unsupported",
        ),
        ({"top_logprobs": 2}, openai.BadRequestError, "top_logprobs", "invalid_value"),
        ({"logit_bias": {"99999": 1}}, openai.BadRequestError, "logit_bias", "invalid_value"),
    ],
)
def test_what_cannot_be_answered_names_its_field(
    client: openai.OpenAI,
    server: RunningServer,
    options: dict[str, object],
    kind: type[openai.APIStatusError],
    param: str,
    code: str,
) -> None:
    asked = {"model": server.model, "messages": QUESTION, "max_tokens": 2, **options}
    with pytest.raises(kind) as refused:
        client.chat.completions.create(**asked)  # type: ignore[call-overload]
    assert (refused.value.param, refused.value.code) == (param, code)
    assert refused.value.type == "invalid_request_error"
