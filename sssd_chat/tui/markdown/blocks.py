"""The blocks of a Markdown text, from top to bottom: what is in a list or a quote is a block of its
own with signs before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from textual.content import Content

from sssd_chat.tui.markdown.code_blocks import markdown_parser
from sssd_chat.tui.markdown.fence import FenceScanner
from sssd_chat.tui.markdown.inline import inline

_NOTHING = Content("")
_BULLETS = "•◦▪"
_QUOTE = Content.styled("▌ ", ".answer--quote")
_MAJOR_HEADINGS = ("h1", "h2")
_PIECE_LINES = 40
"""A block of code that still grows is drawn in pieces of so many lines: to colour it, it is read
from the start each time."""


@dataclass(frozen=True, slots=True)
class Margin:
    """What is left of a block."""

    first: Content = _NOTHING
    """Before its first line."""
    rest: Content = _NOTHING
    """Before all others, as wide."""

    def inside(self, first: Content, rest: Content) -> Margin:
        """The margin of what is in this block behind these signs."""
        return Margin(self.first + first, self.rest + rest)

    @property
    def below(self) -> Margin:
        """That of the next block in the same place: a bullet stands before one line only."""
        return replace(self, first=self.rest)


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the text with a look of its own."""

    margin: Margin
    gap: Content | None
    """What is in the empty line above it; None where there is no such line."""


@dataclass(frozen=True, slots=True)
class Paragraph(Block):
    """Text, wrapped at the width that there is."""

    text: Content


@dataclass(frozen=True, slots=True)
class Code(Block):
    """Code, or a piece of it."""

    language: str
    text: str


@dataclass(frozen=True, slots=True)
class Rule(Block):
    """A line from left to right."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One of a table."""

    text: Content
    align: str
    """As CSS names it."""


@dataclass(frozen=True, slots=True)
class Table(Block):
    """Cells in rows; the first row is the head."""

    rows: tuple[tuple[Cell, ...], ...]


@cache
def _parser() -> MarkdownIt:
    return markdown_parser()


def blocks(text: str, *, follows: bool = False) -> list[Block]:
    """All blocks of a text, the last one of which may not be complete yet. With `follows`, it
    stands below another text."""
    scanner = FenceScanner()
    scanner.feed(text)
    tree = SyntaxTreeNode(_parser().parse(text))
    found = list(_children(tree, Margin(), _NOTHING if follows else None, 1))
    if scanner.is_open and found and isinstance(last := found[-1], Code):
        found[-1:] = _pieces(last)
    return found


def _pieces(code: Code) -> Iterator[Code]:
    """A block of code in parts that stay the same when it grows."""
    lines = code.text.split("\n")
    margin, gap = code.margin, code.gap
    for start in range(0, len(lines), _PIECE_LINES):
        text = "\n".join(lines[start : start + _PIECE_LINES])
        yield Code(margin, gap, code.language, text)
        margin, gap = margin.below, None


def _children(
    node: SyntaxTreeNode, margin: Margin, gap: Content | None, lines_between: int
) -> Iterator[Block]:
    """The blocks in `node`, of which the first has `gap` above it."""
    for child in node.children:
        for block in _blocks(child, margin, gap):
            yield block
            margin = margin.below
            gap = margin.rest if lines_between else None


def _blocks(node: SyntaxTreeNode, margin: Margin, gap: Content | None) -> Iterator[Block]:
    match node.type:
        case "paragraph":
            yield Paragraph(margin, gap, _text(node))
        case "heading":
            style = "major-heading" if node.tag in _MAJOR_HEADINGS else "heading"
            yield Paragraph(margin, gap, _text(node).stylize_before(f".answer--{style}"))
        case "fence" | "code_block":
            language = node.info.strip().partition(" ")[0]
            yield Code(margin, gap, language, node.content.removesuffix("\n"))
        case "hr":
            yield Rule(margin, gap)
        case "blockquote":
            yield from _children(node, margin.inside(_QUOTE, _QUOTE), gap, 1)
        case "bullet_list" | "ordered_list":
            yield from _items(node, margin, gap)
        case "table":
            rows = [row for part in node.children for row in part.children]
            yield Table(margin, gap, tuple(_cells(row) for row in rows))
        case _:
            yield Paragraph(margin, gap, Content(node.content))


def _items(node: SyntaxTreeNode, margin: Margin, gap: Content | None) -> Iterator[Block]:
    """A list. One whose paragraphs Markdown calls hidden has no empty lines in it."""
    tight = all(
        child.hidden
        for item in node.children
        for child in item.children
        if child.type == "paragraph"
    )
    signs = _signs(node)
    for item, sign in zip(node.children, signs, strict=True):
        bullet = Content.styled(sign, ".answer--bullet")
        inner = margin.inside(bullet, Content(" " * len(sign)))
        if not item.children:
            yield Paragraph(inner, gap, _NOTHING)
        yield from _children(item, inner, gap, 0 if tight else 1)
        margin = margin.below
        gap = None if tight else margin.rest


def _signs(node: SyntaxTreeNode) -> list[str]:
    if node.type == "bullet_list":
        depth = sum(1 for parent in _ancestors(node) if parent.type == "bullet_list")
        return [f"{_BULLETS[depth % len(_BULLETS)]} "] * len(node.children)
    first = int(node.attrs.get("start", 1))
    numbers = [f"{number}." for number in range(first, first + len(node.children))]
    width = max(map(len, numbers))
    return [f"{number:>{width}} " for number in numbers]


def _ancestors(node: SyntaxTreeNode) -> Iterator[SyntaxTreeNode]:
    while node.parent is not None:
        node = node.parent
        yield node


def _text(node: SyntaxTreeNode) -> Content:
    token = node.children[0].token if node.children else None
    return inline(token.children or ()) if token is not None else _NOTHING


def _cells(row: SyntaxTreeNode) -> tuple[Cell, ...]:
    return tuple(
        Cell(_text(cell), str(cell.attrs.get("style", "")).partition(":")[2] or "left")
        for cell in row.children
    )
