"""What the answers of an earlier run said, so that later ones can be drafted from them, too."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

MOST_BYTES = 4 * 1024 * 1024
"""Of a file of answers, so much of its end is looked at: the latest are the likeliest to help, and
reading a long file again would hold up its end."""


def texts_of(lines: Iterable[bytes]) -> Iterator[str]:
    """The texts of all answers in lines of a file of answers, what the model thought included.
    Errors, and lines that are something else, have none."""
    for line in lines:
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(answer, dict):
            yield from (text for text in _texts(answer) if isinstance(text, str) and text)


def _texts(answer: dict[str, object]) -> Iterator[object]:
    response = answer.get("response")
    body = response.get("body") if isinstance(response, dict) else answer
    if not isinstance(body, dict):
        return
    choices = body.get("choices")
    if not isinstance(choices, list):
        yield from (body.get("thinking"), body.get("text"))
        return
    for choice in choices:
        if isinstance(choice, dict):
            message = choice.get("message")
            if isinstance(message, dict):
                yield from (message.get("reasoning_content"), message.get("content"))
            yield choice.get("text")
