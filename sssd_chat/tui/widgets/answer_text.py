"""The Markdown of an answer, drawn in parts, so that its end costs the same in a long answer."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownBlock

from sssd_chat.tui.code_blocks import markdown_parser
from sssd_chat.tui.segments import first_end, segments
from sssd_chat.tui.widgets.code_block import CodeBlock
from sssd_chat.tui.widgets.growing import GrowingColumn

_BLOCKS: dict[str, type[MarkdownBlock]] = {
    **Markdown.BLOCKS,
    "fence": CodeBlock,
    "code_block": CodeBlock,
}


class AnswerPart(Markdown, GrowingColumn):
    """A part of the text."""

    BLOCKS = _BLOCKS

    def __init__(self) -> None:
        super().__init__(parser_factory=markdown_parser, open_links=False)


class AnswerText(Vertical, GrowingColumn):
    """All parts, from top to bottom. Only the last one is drawn anew when text comes."""

    def __init__(self) -> None:
        super().__init__(classes="body")
        self._parts = [AnswerPart()]

    def compose(self) -> ComposeResult:
        """The first part."""
        yield from self._parts

    @property
    def source(self) -> str:
        """The whole text."""
        return "".join(part.source for part in self._parts)

    @property
    def blocks(self) -> Sequence[Widget]:
        """The blocks of all parts."""
        return [block for part in self._parts for block in part.children]

    async def append(self, text: str) -> None:
        """Adds text at the end."""
        last = self._parts[-1]
        rest = last.source + text
        while end := first_end(rest):
            if end > len(last.source):
                await last.append(rest[len(last.source) : end])
            rest = rest[end:]
            last = await self._add_part()
        if len(rest) > len(last.source):
            await last.append(rest[len(last.source) :])

    async def update(self, text: str) -> None:
        """Shows this text. Parts that are shown already stay, but for the last one: what comes
        piece by piece may look different as a whole."""
        wanted = segments(text)
        same = 0
        for part, new in zip(self._parts[:-1], wanted[:-1], strict=False):
            if part.source != new:
                break
            same += 1
        for part in self._parts[same + 1 :]:
            await part.remove()
        del self._parts[same + 1 :]
        for number, new in enumerate(wanted[same:]):
            part = await self._add_part() if number else self._parts[same]
            await part.update(new)

    async def _add_part(self) -> AnswerPart:
        part = AnswerPart()
        self._parts.append(part)
        await self.mount(part)
        return part
