"""Subtitles (SubRip and WebVTT): what is said, without numbers, times and styles."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from sssd_chat.documents.document import Document, DocumentError, Source
from sssd_chat.documents.encoding import in_parts, text_lines

_TIMES = re.compile(r"\s*(?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}\s*-->")
_TAGS = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")


def read(source: Source) -> Iterator[Document]:
    """The lines that are shown, each once: rolling captions repeat them. Raises DocumentError if
    the file has no times, so is no subtitles."""
    yield from in_parts(source.name, _spoken(text_lines(source)))


def _spoken(lines: Iterator[str]) -> Iterator[str]:
    timed = shown = False
    last = ""
    for line in lines:
        if _TIMES.match(line):
            timed = shown = True
        elif not line.strip():
            # What follows until the next times is a number, a name, a comment or a style.
            shown = False
        elif shown:
            text = " ".join(html.unescape(_TAGS.sub("", line)).split())
            if text and text != last:
                yield text + "\n"
                last = text
    if not timed:
        raise DocumentError("is no subtitles file: it has no times")
