"""What a reader of a web page sees: its text, with paragraphs, lists and tables as plain lines."""

from __future__ import annotations

from collections.abc import Iterable

_UNSEEN = frozenset({"script", "style", "noscript", "template", "svg", "math", "iframe", "object"})
_PARAGRAPHS = frozenset(
    {
        *("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "table", "blockquote", "pre"),
        *("section", "article", "header", "footer", "nav", "aside", "main", "figure", "hr", "form"),
    }
)
_LINES = frozenset(
    {"div", "li", "tr", "dt", "dd", "caption", "figcaption", "option", "body", "address"}
)
_CELLS = frozenset({"td", "th"})


class WebText:
    """Collects the text of a page; a target of lxml's HTML parser, which builds no tree then."""

    def __init__(self) -> None:
        self.title = ""
        self._pieces: list[str] = []
        self._breaks = 0
        self._space = False
        self._unseen = 0
        self._verbatim = 0
        self._titles = 0
        self._prefix = ""

    @property
    def text(self) -> str:
        """What was collected until now."""
        return "".join(self._pieces)

    def start(self, tag: str, attributes: object = None) -> None:
        """An element begins."""
        if tag in _UNSEEN:
            self._unseen += 1
        elif tag == "title":
            self._titles += 1
        elif tag == "br":
            self._breaks = min(self._breaks + 1, 2)
        elif tag in _CELLS:
            self._prefix = "\t" if self._pieces and not self._breaks else ""
        else:
            self._break(tag)
            self._prefix = "- " if tag == "li" else self._prefix
        self._verbatim += tag == "pre"

    def end(self, tag: str) -> None:
        """An element ends."""
        if tag in _UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        elif tag == "title":
            self._titles = max(0, self._titles - 1)
        else:
            self._break(tag)
        self._verbatim = max(0, self._verbatim - (tag == "pre"))

    def data(self, text: str) -> None:
        """Text, in pieces of any length."""
        if self._titles and not self._unseen:
            self.title += text
        elif self._unseen:
            return
        elif self._verbatim:
            self._begin()
            self._pieces.append(text)
        else:
            self._running(text)

    def comment(self, text: str) -> None:
        """Not seen."""

    def close(self) -> WebText:
        """The page ends."""
        self.title = " ".join(self.title.split())
        return self

    def _break(self, tag: str) -> None:
        wanted = 2 if tag in _PARAGRAPHS else 1 if tag in _LINES else 0
        if wanted:
            self._breaks = max(self._breaks, wanted)
            self._prefix = ""

    def _running(self, text: str) -> None:
        words = text.split()
        if not words:
            self._space = self._space or bool(text)
            return
        self._space = self._space or text[0].isspace()
        self._begin()
        self._pieces.append(" ".join(words))
        self._space = text[-1].isspace()

    def _begin(self) -> None:
        """Whatever separates the coming text from the one before."""
        if self._breaks and self._pieces:
            self._pieces.append("\n" * self._breaks)
        elif self._space and self._pieces and not self._prefix:
            self._pieces.append(" ")
        if self._prefix:
            self._pieces.append(self._prefix)
        self._breaks, self._space, self._prefix = 0, False, ""


def text_of_page(pieces: Iterable[str]) -> WebText:
    """The text and the title of a page in HTML that comes in pieces. Nothing is loaded, no script
    runs, and broken HTML is read as a browser does."""
    from lxml import etree

    page = WebText()
    parser = etree.HTMLParser(target=page, no_network=True, huge_tree=True, remove_pis=True)
    empty = True
    for piece in pieces:
        if piece:
            parser.feed(piece)
            empty = False
    if not empty:
        parser.close()
    return page
