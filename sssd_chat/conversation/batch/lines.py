"""The lines of a file of requests."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from sssd_chat.conversation.completions.fields import Fields, parse_json
from sssd_chat.conversation.completions.refusal import RequestRefused
from sssd_chat.conversation.completions.request import Asked, Defaults, read_chat, read_completion

_DIGEST_LENGTH = 16
_READERS: dict[str, Callable[[object, Defaults], Asked]] = {
    "/v1/chat/completions": read_chat,
    "/v1/completions": read_completion,
}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class LineId:
    """Which line of which content."""

    number: int
    """From 1."""
    digest: str
    """The hash of its bytes, the end of the line not included."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line with something in it."""

    id: LineId
    content: bytes


@dataclass(frozen=True, slots=True)
class LineRequest:
    """What a line asks for."""

    asked: Asked
    custom_id: str | None
    """The name that the line gives itself; None for none."""
    is_plain: bool
    """Whether the line is a plain one, and not in the form of OpenAI's batch files."""


def read_lines(file: BinaryIO) -> Iterator[Line]:
    """The lines of a file from its beginning, without the blank ones."""
    file.seek(0)
    for number, line in enumerate(file, 1):
        content = line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
        content = content.strip()
        if content:
            digest = hashlib.sha256(content).hexdigest()[:_DIGEST_LENGTH]
            yield Line(LineId(number, digest), content)


def custom_id_of(line: Line) -> tuple[str | None, bool]:
    """The name that a line gives itself, and whether it is a plain one; for lines that cannot be
    read, too."""
    try:
        fields = Fields(parse_json(line.content))
    except RequestRefused:
        return None, True
    custom_id = fields.value("custom_id")
    is_plain = fields.value("body") is None and fields.value("url") is None
    return custom_id if isinstance(custom_id, str) else None, is_plain


def read_request(line: Line, defaults: Defaults) -> LineRequest:
    """What a line asks for: a line of OpenAI's batch files (`custom_id`, `method`, `url`, `body`),
    or an object with `messages` or with a `prompt`, which is asked as a question; other fields are
    those of a chat request. Raises RequestRefused."""
    value = parse_json(line.content)
    fields = Fields(value)
    custom_id, is_plain = custom_id_of(line)
    if is_plain:
        return LineRequest(read_chat(_plain_body(fields), defaults), custom_id, True)
    fields.text("custom_id")
    method, url = fields.text("method"), fields.text("url")
    if method not in (None, "POST"):
        raise RequestRefused("'method' may only be POST.", param="method", code="invalid_value")
    if url not in _READERS:
        raise RequestRefused(
            f"'url' may be one of {', '.join(_READERS)}.", param="url", code="invalid_value"
        )
    asked = _READERS[url](fields.value("body"), defaults)
    if asked.wanted.stream:
        raise RequestRefused(
            "A line of a batch cannot be streamed.", param="body.stream", code="unsupported"
        )
    return LineRequest(asked, custom_id, False)


def _plain_body(fields: Fields) -> dict[str, object]:
    body = dict(fields.items())
    prompt = fields.text("prompt")
    if body.get("messages") is None:
        if prompt is None:
            raise RequestRefused(
                "The line has neither 'messages' nor 'prompt'.",
                param="prompt",
                code="missing_required_parameter",
            )
        body["messages"] = [{"role": "user", "content": prompt}]
    return body | {"stream": None, "stream_options": None}
