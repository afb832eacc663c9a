"""Requests in OpenAI's form, read into data classes."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from sssd_chat.conversation.completions.fields import Fields, wrong_type, wrong_value
from sssd_chat.conversation.completions.refusal import RequestRefused
from sssd_chat.conversation.templates import Message, Role
from sssd_chat.errors import UserError
from sssd_chat.generation.batching import grammar_of_schema
from sssd_chat.generation.engine import GenerationSettings
from sssd_chat.generation.sampling import SamplerSettings

MOST_LOGPROBS = 20
"""Alternatives to each token that may be asked for."""
_MOST_STOPS = 16
_MOST_BIASES = 1024
_MOST_DIGITS = 18
"""Of the number of a token."""
_FAR = 2**53

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}


@dataclass(frozen=True, slots=True)
class Defaults:
    """What counts where a request says nothing, and how much it may ask for."""

    generation: GenerationSettings
    system: str = ""
    """The system prompt of chats that bring none; empty for none."""
    thinking: bool | None = None
    """Whether the model is asked to think; None leaves it to its template."""
    most_choices: int = 8
    """Answers to one request."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What chats and completions have in common."""

    model: str | None
    generation: GenerationSettings
    choices: int
    """Answers to each prompt."""
    logprobs: int | None
    """Alternatives to each token whose log-probabilities are wanted; 0 for those of the tokens
    themselves, None for none at all."""
    stream: bool
    include_usage: bool
    """Whether a stream ends with the usage."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request for the next message of a chat."""

    messages: tuple[Message, ...]
    wanted: Wanted
    thinking: bool | None


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """A request for what follows some texts."""

    prompts: tuple[str | tuple[int, ...], ...]
    """Texts, or tokens."""
    wanted: Wanted


Asked = ChatRequest | CompletionRequest


def read_chat(body: object, defaults: Defaults) -> ChatRequest:
    """A chat request. Raises RequestRefused, which names the field."""
    fields = Fields(body)
    _refuse_unsupported(fields, ("tools", "functions", "audio"))
    messages = _messages(fields)
    if defaults.system and all(message.role != "system" for message in messages):
        messages = [Message("system", defaults.system), *messages]
    with_logprobs = fields.flag("logprobs")
    top = fields.whole("top_logprobs", 0, MOST_LOGPROBS)
    if top is not None and not with_logprobs:
        raise wrong_value("top_logprobs", "it needs 'logprobs' to be true")
    wanted = _wanted(fields, defaults, (top or 0) if with_logprobs else None)
    return ChatRequest(tuple(messages), wanted, _thinking(fields, defaults))


def read_completion(body: object, defaults: Defaults) -> CompletionRequest:
    """A request to continue a text. Raises RequestRefused, which names the field."""
    fields = Fields(body)
    _refuse_unsupported(fields, ("suffix", "echo"))
    best_of = fields.whole("best_of", 1, _FAR)
    wanted = _wanted(fields, defaults, fields.whole("logprobs", 0, MOST_LOGPROBS))
    if best_of is not None and best_of != wanted.choices:
        raise wrong_value("best_of", "only that of 'n' is supported")
    prompts = _prompts(fields)
    if len(prompts) * wanted.choices > defaults.most_choices:
        raise wrong_value(
            "prompt", f"at most {defaults.most_choices} answers may be asked for at once"
        )
    return CompletionRequest(prompts, wanted)


def _refuse_unsupported(fields: Fields, names: tuple[str, ...]) -> None:
    for name in names:
        if fields.value(name) not in (None, False, [], ""):
            raise RequestRefused(
                f"'{name}' is not supported by this server.", param=name, code="unsupported"
            )


def _wanted(fields: Fields, defaults: Defaults, logprobs: int | None) -> Wanted:
    stream = fields.flag("stream")
    options = fields.object("stream_options")
    if options is not None and not stream:
        raise wrong_value("stream_options", "it needs 'stream' to be true")
    return Wanted(
        fields.text("model"),
        _generation(fields, defaults.generation),
        fields.whole("n", 1, defaults.most_choices) or 1,
        logprobs,
        stream,
        options is not None and options.flag("include_usage"),
    )


def _generation(fields: Fields, default: GenerationSettings) -> GenerationSettings:
    newer = fields.whole("max_completion_tokens", 1, _FAR)
    older = fields.whole("max_tokens", 1, _FAR)
    asked = newer if newer is not None else older
    return replace(
        default,
        sampler=_sampler(fields, default.sampler),
        max_tokens=default.max_tokens if asked is None else asked,
        stop=(*default.stop, *_stops(fields)),
    )


def _sampler(fields: Fields, default: SamplerSettings) -> SamplerSettings:
    def number(name: str, low: float, high: float, otherwise: float) -> float:
        value = fields.number(name, low, high)
        return otherwise if value is None else value

    top_k = fields.whole("top_k", 0, _FAR)
    seed = fields.whole("seed", -(2**63), 2**63)
    return replace(
        default,
        temperature=number("temperature", 0, 2, default.temperature),
        top_k=default.top_k if top_k is None else top_k,
        top_p=number("top_p", 0, 1, default.top_p),
        min_p=number("min_p", 0, 1, default.min_p),
        frequency_penalty=number("frequency_penalty", -2, 2, default.frequency_penalty),
        presence_penalty=number("presence_penalty", -2, 2, default.presence_penalty),
        seed=default.seed if seed is None else seed,
        logit_bias=_biases(fields),
        grammar=_grammar(fields) or default.grammar,
    )


def _biases(fields: Fields) -> tuple[tuple[int, float], ...]:
    values = fields.object("logit_bias")
    if values is None:
        return ()
    names = [name for name, _ in values.items()]
    if len(names) > _MOST_BIASES:
        raise wrong_value("logit_bias", f"at most {_MOST_BIASES} tokens are allowed")
    biases = []
    for name in names:
        if not (name.isascii() and name.isdigit() and len(name) <= _MOST_DIGITS):
            raise wrong_value("logit_bias", f"'{name[:_MOST_DIGITS]}' is not the number of a token")
        biases.append((int(name), values.number(name, -100, 100) or 0.0))
    return tuple(biases)


def _grammar(fields: Fields) -> str:
    """What `response_format` asks for, as a grammar; or `grammar` itself, as llama-server has it.
    Empty for neither."""
    wanted = fields.object("response_format")
    own = fields.text("grammar") or ""
    kind = wanted.text("type") if wanted is not None else "text"
    if wanted is None or kind == "text":
        return own
    if own:
        raise wrong_value("grammar", "it cannot be together with 'response_format'")
    if kind == "json_object":
        return grammar_of_schema('{"type": "object"}')
    if kind != "json_schema":
        raise wrong_value(
            wanted.path("type"), "it may be one of 'text', 'json_object', 'json_schema'"
        )
    described = wanted.object("json_schema")
    schema = None if described is None else described.object("schema")
    path = "response_format.json_schema.schema"
    if schema is None:
        raise wrong_type(path, "an object", None)
    try:
        return grammar_of_schema(json.dumps(dict(schema.items())))
    except UserError as error:
        raise RequestRefused(str(error), param=path, code="invalid_value") from error


def _stops(fields: Fields) -> tuple[str, ...]:
    value = fields.value("stop")
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list):
        raise wrong_type("stop", "a string or an array of strings", value)
    if len(value) > _MOST_STOPS:
        raise wrong_value("stop", f"at most {_MOST_STOPS} strings are allowed")
    stops = []
    for number, stop in enumerate(value):
        if not isinstance(stop, str):
            raise wrong_type(f"stop[{number}]", "a string", stop)
        stops.append(stop)
    return tuple(stops)


def _thinking(fields: Fields, defaults: Defaults) -> bool | None:
    """Asked for as llama-server has it: chat_template_kwargs.enable_thinking."""
    options = fields.object("chat_template_kwargs")
    if options is None or options.value("enable_thinking") is None:
        return defaults.thinking
    return options.flag("enable_thinking")


# Messages and prompts


def _messages(fields: Fields) -> list[Message]:
    values = fields.array("messages")
    if values is None:
        raise RequestRefused(
            "Missing required parameter: 'messages'.",
            param="messages",
            code="missing_required_parameter",
        )
    if not values:
        raise wrong_value("messages", "there must be at least one message")
    return [_message(Fields(value, f"messages[{n}]")) for n, value in enumerate(values)]


def _message(fields: Fields) -> Message:
    role = fields.text("role")
    if role not in _ROLES:
        names = ", ".join(f"'{name}'" for name in _ROLES)
        raise wrong_value(fields.path("role"), f"it may be one of {names}")
    if fields.value("tool_calls") not in (None, []):
        raise RequestRefused(
            "Calls of tools are not supported by this server.",
            param=fields.path("tool_calls"),
            code="unsupported",
        )
    thinking = fields.text("reasoning_content") or ""
    return Message(_ROLES[role], _content(fields), thinking)


def _content(fields: Fields) -> str:
    value = fields.value("content")
    if isinstance(value, str):
        return value
    path = fields.path("content")
    if not isinstance(value, list):
        raise wrong_type(path, "a string or an array of parts", value)
    return "\n\n".join(_part(Fields(part, f"{path}[{n}]")) for n, part in enumerate(value))


def _part(fields: Fields) -> str:
    kind = fields.text("type")
    if kind != "text":
        what = "Images are" if kind in ("image_url", "input_image") else f"Parts of type {kind} are"
        raise RequestRefused(
            f"{what} not supported: this server reads text alone.",
            param=fields.path("type"),
            code="unsupported_content",
        )
    text = fields.text("text")
    if text is None:
        raise wrong_type(fields.path("text"), "a string", None)
    return text


def _prompts(fields: Fields) -> tuple[str | tuple[int, ...], ...]:
    """A text, texts, tokens, or lists of tokens."""
    value = fields.value("prompt")
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list) or not value:
        raise wrong_type("prompt", "a string or an array of strings or of tokens", value)
    if isinstance(value[0], int):
        return (_token_ids(value, "prompt"),)
    return tuple(
        one if isinstance(one, str) else _token_ids(one, f"prompt[{n}]")
        for n, one in enumerate(value)
    )


def _token_ids(value: object, path: str) -> tuple[int, ...]:
    if not isinstance(value, list) or not value:
        raise wrong_type(path, "a string or an array of tokens", value)
    for number, token in enumerate(value):
        if isinstance(token, bool) or not isinstance(token, int):
            raise wrong_type(f"{path}[{number}]", "an integer", token)
    return tuple(value)
