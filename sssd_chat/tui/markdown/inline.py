"""Text within a block of Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it.token import Token
from textual.content import Content, Span
from textual.style import Style

LINK = "link"
"""The key of a link's address in the `meta` of a style."""

_STYLES = {
    "em_open": ".answer--emphasis",
    "strong_open": ".answer--strong",
    "s_open": ".answer--struck",
}
_SPACE = re.compile(r"\s+")


def inline(tokens: Sequence[Token]) -> Content:
    """The children of an `inline` token as one line, or several at hard breaks. Its styles are
    names of style classes that begin with a dot, as in a style sheet."""
    text: list[str] = []
    spans: list[Span] = []
    opened: list[tuple[int, tuple[str | Style, ...]]] = []
    position = 0

    def add(piece: str, *styles: str | Style) -> None:
        nonlocal position
        text.append(piece)
        spans.extend(Span(position, position + len(piece), style) for style in styles)
        position += len(piece)

    for token in tokens:
        match token.type:
            case "text":
                add(_SPACE.sub(" ", token.content))
            case "softbreak":
                add(" ")
            case "hardbreak":
                add("\n")
            case "code_inline":
                add(token.content, ".answer--code-inline")
            case "image":
                alt = "".join(child.content for child in token.children or ())
                add(f"[image: {alt}]" if alt else "[image]", *_link(str(token.attrGet("src"))))
            case "link_open":
                opened.append((position, _link(str(token.attrGet("href")))))
            case kind if kind in _STYLES:
                opened.append((position, (_STYLES[kind],)))
            case kind if kind.endswith("_close"):
                start, styles = opened.pop()
                spans.extend(Span(start, position, style) for style in styles)
            case _:
                add(token.content)
    return Content("".join(text), spans)


def _link(address: str) -> tuple[str, Style]:
    return ".answer--link", Style.from_meta({LINK: address})
