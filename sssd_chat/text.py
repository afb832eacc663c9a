"""Text of a model or a user, made harmless for a terminal."""

from __future__ import annotations

import re

_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def harmless(text: str) -> str:
    """`text` without what would steer a terminal or turn the reading order: control characters
    (all but newline and tab), line and paragraph separators, bidirectional overrides. For display
    only; what is stored stays whole."""
    return _HARMFUL.sub("", text)
