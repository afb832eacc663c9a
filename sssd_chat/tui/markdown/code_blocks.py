"""Blocks of code in an answer."""

from __future__ import annotations

from dataclasses import dataclass

from markdown_it import MarkdownIt


@dataclass(frozen=True, slots=True)
class Code:
    """One block of code."""

    language: str
    """As the answer names it; empty when it does not."""
    text: str


def markdown_parser() -> MarkdownIt:
    """The parser for answers. HTML is not drawn in a terminal, and what is not drawn would be lost
    from the answer."""
    return MarkdownIt("gfm-like", {"html": False})


def code_blocks(text: str) -> list[Code]:
    """All fenced blocks of code in a Markdown text, in order, those in lists and quotes too."""
    return [
        Code(token.info.strip().partition(" ")[0], token.content)
        for token in markdown_parser().parse(text)
        if token.type == "fence"
    ]
