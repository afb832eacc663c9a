"""Code in quiet colours."""

from __future__ import annotations

from pygments.token import Token  # type: ignore[import-untyped]
from textual.content import Content
from textual.highlight import HighlightTheme, highlight

_STYLES = {
    Token.Comment: "$muted italic",
    Token.Generic.Deleted: "$error",
    Token.Generic.Emph: "italic",
    Token.Generic.Heading: "bold",
    Token.Generic.Inserted: "$success",
    Token.Generic.Strong: "bold",
    Token.Generic.Subheading: "bold",
    Token.Keyword: "$accent",
    Token.Keyword.Constant: "$accent",
    Token.Literal.Number: "$warning",
    Token.Literal.String: "$code-string",
    Token.Name.Attribute: "$secondary",
    Token.Name.Class: "bold",
    Token.Name.Decorator: "$secondary",
    Token.Name.Function: "bold",
    Token.Name.Tag: "$accent",
    Token.Operator.Word: "$accent",
}


class _QuietColours(HighlightTheme):
    """Names stay plain, so that what stands out is the structure. The colours are those of the
    theme, and so right on dark, light and terminal colours."""

    STYLES = _STYLES


def highlighted(code: str, language: str) -> Content:
    """The code with its colours; without a language, or with one that nobody knows, plain."""
    return highlight(code, language=language or "text", theme=_QuietColours)
